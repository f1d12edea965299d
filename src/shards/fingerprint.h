#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include <fmt/format.h>

namespace waggle {

/// 64 bits of FNV-1a: tells what was damaged or mixed up from what was not; no defence against
/// malice.
class Fingerprint {
 public:
  Fingerprint& add(std::string_view bytes) {
    for (const char byte : bytes) {
      hash_ = (hash_ ^ static_cast<unsigned char>(byte)) * 1099511628211ULL;
    }
    return *this;
  }
  std::string text() const { return fmt::format("{:016x}", hash_); }

 private:
  std::uint64_t hash_ = 14695981039346656037ULL;
};

}  // namespace waggle

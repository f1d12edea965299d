#pragma once

#include <algorithm>
#include <cstdlib>
#include <string>

#include <waggle/base/random.h>

namespace waggle {

/// How many damaged inputs to try: what WAGGLE_MUTATIONS says, or `otherwise`.
inline long mutations(long otherwise) {
  const char* setting = std::getenv("WAGGLE_MUTATIONS");
  return setting == nullptr ? otherwise : std::max(std::atol(setting), 1L);
}

/// Kinds of damage that any file may suffer.
enum class Damage { bit, byte, cut, erase, insert };

/// Damages `bytes` at `at`: flips a bit, puts another byte, cuts all that follows, erases `length`
/// bytes, or inserts as many of those from `from` on.
inline void damage(std::string& bytes, Damage kind, std::size_t at, std::size_t from,
                   std::size_t length, Draws& draws) {
  switch (kind) {
    case Damage::bit:
      bytes[at] = static_cast<char>(bytes[at] ^ (1 << draws.index(8)));
      break;
    case Damage::byte:
      bytes[at] = static_cast<char>(draws.index(256));
      break;
    case Damage::cut:
      bytes.resize(at);
      break;
    case Damage::erase:
      bytes.erase(at, length);
      break;
    case Damage::insert:
      bytes.insert(at, bytes.substr(from, length));
      break;
  }
}

}  // namespace waggle

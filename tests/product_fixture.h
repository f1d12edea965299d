#pragma once

#include <cmath>
#include <filesystem>
#include <fstream>
#include <initializer_list>
#include <string>

#include <gtest/gtest.h>

#include "cli_fixture.h"

namespace waggle {

/// Commands on the files of a user: small logs, and models of them.
class ProductCli : public Cli {
 protected:
  std::string write(const std::string& name, const std::string& text) const {
    std::ofstream(directory_ / name) << text;
    return path(name);
  }
  /// Runs a command that has to succeed.
  std::string done(const std::string& arguments) const {
    const Outcome outcome = run(arguments);
    EXPECT_EQ(outcome.code, 0) << arguments << "\n" << outcome.err;
    return outcome.out;
  }
  /// A small model of Bee World.
  std::string bee() const {
    done("simulate bee-world --steps 800 --seed 3 -o " + path("log.csv"));
    done("learn " + path("log.csv") + learnt() + " -o " + path("bee.safetensors"));
    return path("bee.safetensors");
  }
  static std::string learnt() { return " --reward nectar --action move --gamma 0.5 --units 60"; }
  /// A switch that pays off two steps later, with a measured quantity beside it.
  std::string relay() const {
    std::string text = "temp,mode,gain\n";
    int state = 7;
    bool was_on = false;
    for (int k = 0; k < 400; ++k) {
      state = state * 1103515245 % 2147483647;
      const bool on = std::abs(state) / 1000 % 2 == 0;
      text += std::to_string(std::sin(0.3 * k)) + (on ? ",on," : ",off,") +
              std::to_string((was_on ? 1.0 : 0.0) + 0.1 * std::sin(0.3 * k)) + "\n";
      was_on = on;
    }
    return write("relay.csv", text);
  }
};

inline void expect_parts(const std::string& text, std::initializer_list<const char*> parts) {
  for (const char* part : parts) {
    EXPECT_NE(text.find(part), std::string::npos) << part << " not in:\n" << text;
  }
}

}  // namespace waggle

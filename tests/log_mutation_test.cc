#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <fstream>
#include <iterator>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include <waggle/base/error.h>
#include <waggle/base/random.h>
#include <waggle/log.h>

#include "damage.h"
#include "log_files.h"
#include "temporary_folder.h"

// Damaged logs: each must be refused by an Error of one line, or load as a valid log. A crash, any
// other exception or a sanitizer's report fails. WAGGLE_MUTATIONS sets how many (2,000).

namespace waggle {
namespace {

using Eigen::Index;

std::string contents(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}

std::string csv_log() {
  std::string text = "episode,x,\"y, quoted\",reward,action,terminated,truncated\r\n";
  for (int k = 0; k < 40; ++k) {
    text += std::to_string(k / 10) + "," + std::to_string(0.37 * k - 3) + ",\"" +
            std::to_string(k * k) + "\",1e-" + std::to_string(k) + "," +
            (k % 3 == 0 ? "up" : "down") + (k % 10 == 9 ? ",true" : ",false") + ",0\r\n";
  }
  return text;
}

/// Semicolons, decimal commas, dates, missing values and the names of others.
std::string sheet_log() {
  std::string text = "when;x;label;reward;action;terminals;timeouts;spare\n";
  for (int k = 0; k < 40; ++k) {
    text += "2024-02-" + std::to_string(10 + k / 2) + (k % 2 == 0 ? "T00:00:00Z" : " 12:00:00.0") +
            ";" + (k % 5 == 2 ? "" : std::to_string(k) + ",25") + ";" + (k % 3 == 0 ? "NA" : "up") +
            ";" + std::to_string(k * k % 7) + ";" + std::to_string(k % 4) + ",5;" +
            (k % 10 == 9 ? "1" : "0") + ";0;any\n";
  }
  return text;
}

std::vector<double> ramp(int rows, double slope) {
  std::vector<double> numbers;
  numbers.reserve(static_cast<std::size_t>(rows));
  for (int k = 0; k < rows; ++k) numbers.push_back(slope * k);
  return numbers;
}

/// A matrix with the columns log_0, …; as C or Fortran order.
std::string npy_log(bool fortran) {
  const std::string order = fortran ? "True" : "False";
  return npy_file("{'descr': '<f4', 'fortran_order': " + order + ", 'shape': (20, 3), }",
                  bytes_of(std::vector<float>(60, 0.5f)).replace(100, 4, std::string(4, '\x3e')));
}

std::string npz_log(const TemporaryFolder& folder, bool deflate) {
  const std::string path = folder.path("seed.npz");
  EXPECT_TRUE(write_zip(path,
                        {{"reward.npy", npy_vector(ramp(30, 0.5))},
                         {"action.npy", npy_vector(ramp(30, 1.0))},
                         {"x.npy", npy_vector(ramp(30, -0.1))}},
                        deflate));
  return contents(path);
}

/// Damages some bytes: bits, whole bytes, numbers of all ones or zeros, parts removed, doubled or
/// taken from elsewhere, words with a meaning to some parser.
std::string mutated(std::string bytes, Draws& draws) {
  const auto place = [&] {
    return static_cast<std::size_t>(draws.index(static_cast<Index>(bytes.size())));
  };
  for (Index change = 1 + draws.index(4); change > 0 && !bytes.empty(); --change) {
    const std::size_t at = place();
    const std::size_t length = std::min(std::size_t{1} << draws.index(8), bytes.size() - at);
    const Index kind = draws.index(8);
    switch (kind) {
      case 5:
        bytes.replace(at, length, std::string(length, draws.index(2) == 0 ? '\0' : '\xFF'));
        break;
      case 6:
        bytes.replace(at, length, bytes.substr(place(), length));
        break;
      case 7: {
        const char* words[] = {"\"",
                               ",",
                               "\n",
                               "\r",
                               "nan",
                               "inf",
                               "1e999",
                               "-",
                               "'",
                               "(",
                               ")",
                               "99999999999",
                               "18446744073709551615",
                               "True",
                               "|O",
                               "NA",
                               "0,5",
                               "\t",
                               "2024-02-30",
                               "T24:00",
                               "[('a', '<f8', (3,))]",
                               "PK\5\6",
                               ";"};
        bytes.insert(at, words[draws.index(std::size(words))]);
        break;
      }
      default:  // what any file may suffer
        damage(bytes, static_cast<Damage>(kind), at, place(), length, draws);
    }
  }
  return bytes;
}

/// Loads it, if it can be; the log must then be sound.
bool loads(const std::string& path, const LogOptions& options) {
  try {
    const LoadedLog log = read_log(path, options);
    const Trajectory& t = log.trajectory;
    EXPECT_GE(t.steps(), 1);
    EXPECT_TRUE(t.rewards().allFinite() && t.actions().allFinite() && t.observations().allFinite());
    EXPECT_EQ(t.observation_size(), log.spec.observation_size());
    log.spec.actions.validate();
    require_fit(InputLayout::of(log.spec), t);
    return true;
  } catch (const Error& error) {
    const std::string message = error.what();
    EXPECT_FALSE(message.empty());
    EXPECT_EQ(message.find('\n'), std::string::npos) << message;
    return false;
  }
}

void expect_clean(const TemporaryFolder& folder, const std::string& seed_file,
                  const std::string& name, std::uint64_t seed, const LogOptions& options = {}) {
  ASSERT_TRUE(loads(folder.write(name, seed_file), options)) << "undamaged";
  const Random random(seed);
  long loaded = 0;
  const long count = mutations(2000) / 8;
  for (long i = 0; i < count; ++i) {
    Draws draws = random.at(Purpose::user, static_cast<std::uint64_t>(i));
    const std::string path = folder.write(name, mutated(seed_file, draws));
    SCOPED_TRACE("mutation " + std::to_string(i));
    if (loads(path, options)) ++loaded;
    if (testing::Test::HasFailure()) return;
  }
  EXPECT_LT(loaded, count) << "nothing was damaged";
}

LogOptions matrix_options() {
  return {.reward = "log_0",
          .actions = {"log_1"},
          .lower = {-1e30},
          .upper = {1e30},
          .needs = {.reward_must_vary = false}};
}

TEST(DamagedLogs, Csv) { expect_clean(TemporaryFolder(), csv_log(), "log.csv", 1); }

TEST(DamagedLogs, CsvAsOthersWriteIt) {
  expect_clean(TemporaryFolder(), sheet_log(), "log.csv", 7,
               {.reward_next = true,
                .ignore = {"spare"},
                .missing = LogOptions::Missing::hold,
                .time = "when"});
}

TEST(DamagedLogs, Npy) {
  const TemporaryFolder folder;
  expect_clean(folder, npy_log(false), "log.npy", 2, matrix_options());
  expect_clean(folder, npy_log(true), "log.npy", 3, matrix_options());
}

TEST(DamagedLogs, Npz) {
  const TemporaryFolder folder;
  expect_clean(folder, npz_log(folder, false), "log.npz", 4);
  expect_clean(folder, npz_log(folder, true), "log.npz", 5);
}

}  // namespace
}  // namespace waggle

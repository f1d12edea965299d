#include <string>
#include <vector>

#include <gtest/gtest.h>

#include <waggle/detail/text.h>

namespace waggle {
namespace {

using Names = std::vector<std::string>;

TEST(Shown, IsOneShortLine) {
  EXPECT_EQ(shown("plain"), "'plain'");
  EXPECT_EQ(shown(std::string_view("a\nb\0", 4)), "'a\\x0Ab\\x00'");
  EXPECT_LE(shown(std::string(1000, 'x')).size(), 70u);
  // Cut between characters, not inside one: 59 bytes, then a character of three bytes.
  EXPECT_EQ(shown(std::string(59, 'x') + "€€"), "'" + std::string(59, 'x') + "…'");
}

TEST(Listed, NamesAFewAndCountsTheRest) {
  EXPECT_EQ(listed(Names{"a"}), "'a'");
  EXPECT_EQ(listed(Names{"a", "b", "c"}), "'a', 'b' and 'c'");
  EXPECT_TRUE(listed(Names(20, "x")).ends_with("'x' and 8 more"));
}

TEST(InWords, EndsWithItsConjunction) {
  EXPECT_EQ(in_words(Names{}, "or"), "");
  EXPECT_EQ(in_words(Names{"a"}, "or"), "a");
  EXPECT_EQ(in_words(Names{"a", "b"}, "or"), "a or b");
  EXPECT_EQ(in_words(Names{"a", "b", "c"}, "and"), "a, b and c");
}

TEST(NearestNames, OrdersByEditDistance) {
  const Names columns = {"reward", "action", "forward", "REWARD", "temperature"};
  EXPECT_EQ(nearest_names("rewrd", columns), (Names{"reward", "REWARD"}));
  EXPECT_EQ(nearest_names("temprature", columns, 1), Names{"temperature"});
  EXPECT_EQ(nearest_names("nectar", columns), Names{});
  // kitten → sitting takes 3, one more than a name of six may be away.
  EXPECT_EQ(nearest_names("kitten", Names{"sitting", "mitten"}), Names{"mitten"});
  EXPECT_EQ(nearest_names("x", Names{"y", "xy", "xyzt"}), Names{"xy"});
  EXPECT_EQ(nearest_names("", Names{"a", "ab"}), Names{});
  EXPECT_EQ(nearest_names(std::string(100'000, 'x'), Names{std::string(100'000, 'x')}).size(), 1u);
}

TEST(MissingName, SaysWhatMayHaveBeenMeant) {
  EXPECT_EQ(missing_name("column", "rewrad", Names{"a", "reward"}),
            "there is no column 'rewrad'; did you mean 'reward'?");
  EXPECT_EQ(missing_name("column", "nectar", Names{"time", "flow"}),
            "there is no column 'nectar'; there is 'time' and 'flow'");
  EXPECT_EQ(missing_name("column", "x", {}), "there is no column 'x'; there is none at all");
}

}  // namespace
}  // namespace waggle

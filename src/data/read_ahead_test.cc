#include <stdexcept>

#include <gtest/gtest.h>

#include <waggle/execution.h>
#include <waggle/trajectory.h>

namespace waggle {
namespace {

using Eigen::Index;
using Eigen::VectorXd;

Trajectory counting(Index rows) {
  Trajectory log(1, 0);
  for (Index k = 0; k < rows; ++k) {
    log.append(static_cast<double>(k), VectorXd::Zero(1), VectorXd(0));
  }
  return log;
}

/// Breaks down before a chunk.
class Breaking final : public TrajectorySource {
 public:
  Breaking(const Trajectory& log, int at) : chunks_(log, 10), at_(at) {}
  void rewind() override {
    chunks_.rewind();
    read_ = 0;
  }
  bool next(Trajectory& chunk) override {
    if (read_++ == at_) throw std::runtime_error("unreadable");
    return chunks_.next(chunk);
  }
  std::optional<bool> cut_out() const override { return read_ > 2; }

 private:
  TrajectoryChunks chunks_;
  int at_;
  int read_ = 0;
};

TEST(ReadAhead, HandsOverTheSameRowsAsOftenAsWanted) {
  const Trajectory log = counting(47);
  for (const int threads : {1, 3}) {
    const ThreadLimit limit(threads);
    TrajectoryChunks chunks(log, 10);
    const auto ahead = read_ahead(chunks);
    TrajectorySource& source = *ahead;
    Trajectory chunk(1, 0);
    for (const Index most : {100, 15, 0, 100}) {  // some of them leave off in the middle
      source.rewind();
      Index rows = 0;
      while (rows < most && source.next(chunk)) {
        for (Index k = 0; k < chunk.steps(); ++k) ASSERT_EQ(chunk.rewards()[k], double(rows++));
      }
      EXPECT_EQ(rows, most == 100 ? 47 : most == 15 ? 20 : 0);
      if (most == 100) EXPECT_EQ(chunk.steps(), 0);
    }
  }
}

TEST(ReadAhead, AnErrorIsThrownWhereItsChunkIsAskedFor) {
  const Trajectory log = counting(47);
  for (const int threads : {1, 3}) {
    const ThreadLimit limit(threads);
    Breaking breaking(log, 2);
    const auto ahead = read_ahead(breaking);
    TrajectorySource& source = *ahead;
    Trajectory chunk(1, 0);
    for (int pass = 0; pass < 2; ++pass) {
      source.rewind();
      EXPECT_TRUE(source.next(chunk));
      EXPECT_TRUE(source.next(chunk));
      EXPECT_EQ(chunk.rewards()[0], 10.0);
      EXPECT_THROW(source.next(chunk), std::runtime_error);
    }
    EXPECT_EQ(source.cut_out(), true);
    source.rewind();
    source.next(chunk);  // and is lost where nobody asks
  }
}

}  // namespace
}  // namespace waggle

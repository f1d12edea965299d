#include <utility>

#include <waggle/history.h>

#include "core/check.h"

namespace waggle {

using Eigen::Index;
using Eigen::Ref;
using Eigen::VectorXd;

namespace {

/// Moves a delay line of blocks of `width` on by one; the newest goes to the front.
template <typename Newest>
void shift(const Ref<const VectorXd>& line, const Newest& newest, Ref<VectorXd> next) {
  const Index width = newest.size();
  if (line.size() == 0) return;
  next.head(width) = newest;
  next.tail(line.size() - width) = line.head(line.size() - width);
}

}  // namespace

HistoryMemory::HistoryMemory(EchoStateNetwork network, const InputLayout& layout, Index frames,
                             Index seen)
    : network_(std::move(network)), layout_(layout), frames_(frames), seen_(seen) {
  require(frames >= 0, "frames = {}: must not be negative", frames);
  require(seen >= 0, "seen = {}: must not be negative", seen);
  require(network_.inputs() == layout.size(), "memory: the network has {} inputs, the layout {}",
          network_.inputs(), layout.size());
  require(network_.constant_feature() >= 0 &&
              network_.units() == network_.nonlinear_units() + layout.size() + 1,
          "memory: the network must have direct_inputs");
  seen_offset_ = network_.units() + frames_ * layout.size();
  first_offset_ = seen_offset_ + seen_ * seen_size();
  age_ = first_offset_ + seen_size();
}

void HistoryMemory::step(const Ref<const VectorXd>& m, const Ref<const VectorXd>& z,
                         Ref<VectorXd> next) const {
  const Index units = network_.units();
  const Index inputs = layout_.size();
  network_.step(m.head(units), z, next.head(units));
  // The inputs before this one are still in m.
  shift(m.segment(units, frames_ * inputs), m.segment(input_offset(), inputs),
        next.segment(units, frames_ * inputs));
  const Index width = seen_size();
  if (seen_ > 0) {
    // What leaves the frames enters here.
    const Index newest = frames_ > 0 ? units + (frames_ - 1) * inputs : input_offset();
    auto line = next.segment(seen_offset_, seen_ * width);
    line.tail((seen_ - 1) * width) = m.segment(seen_offset_, (seen_ - 1) * width);
    for (Index i = 0; i < width; ++i) line[i] = m[newest + seen_channel(i)];
  }
  const bool starts = m[age_] == 0.0;
  for (Index i = 0; i < width; ++i) {
    next[first_offset_ + i] =
        starts ? next[input_offset() + seen_channel(i)] : m[first_offset_ + i];
  }
  next[age_] = m[age_] + kAging * (1.0 - m[age_]);
}

}  // namespace waggle

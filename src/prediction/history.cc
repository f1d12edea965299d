#include <utility>

#include <waggle/fit/history.h>

#include "core/check.h"
#include "prediction/history_carry.h"

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
  network_.step(m.head(units), z, next.head(units));
  carry(*this, m, next);
}

void carry(const HistoryMemory& memory, const Ref<const VectorXd>& m, Ref<VectorXd> next) {
  const Index inputs = memory.layout().size();
  const Index frames = memory.frames();
  const Index line = memory.frames_offset();
  // The inputs before this one are still in m.
  shift(m.segment(line, frames * inputs), m.segment(memory.input_offset(), inputs),
        next.segment(line, frames * inputs));
  const Index width = memory.seen_size();
  const Index seen = memory.seen();
  if (seen > 0) {
    // What leaves the frames enters here.
    const Index newest = frames > 0 ? line + (frames - 1) * inputs : memory.input_offset();
    auto seen_before = next.segment(memory.seen_offset(), seen * width);
    seen_before.tail((seen - 1) * width) = m.segment(memory.seen_offset(), (seen - 1) * width);
    for (Index i = 0; i < width; ++i) seen_before[i] = m[newest + memory.seen_channel(i)];
  }
  const Index age = memory.age_offset();
  const Index first = memory.first_offset();
  const bool starts = m[age] == 0.0;
  for (Index i = 0; i < width; ++i) {
    next[first + i] = starts ? next[memory.input_offset() + memory.seen_channel(i)] : m[first + i];
  }
  next[age] = m[age] + HistoryMemory::kAging * (1.0 - m[age]);
}

}  // namespace waggle

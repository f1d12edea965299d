#pragma once

#include <deque>
#include <optional>
#include <utility>
#include <vector>

#include <Eigen/Core>

#include <waggle/base/exchange.h>

namespace waggle {

constexpr Eigen::Index kShortestLeaf = 256;

/// What a sum consists of; one that nothing was added to yet may be empty.
using Arrays = std::vector<Eigen::MatrixXd*>;

/// Adds; what is added may be taken.
void add_arrays(const Arrays& more, const Arrays& to);
/// To numbers, sizes included, and back; returns where the next are.
void write_arrays(const Arrays& arrays, Exchange::Numbers& to);
const double* read_arrays(const double* from, const Arrays& arrays);

/// The columns of all processes side by side, in the order of their rows.
Eigen::MatrixXd joined(Exchange* exchange, Eigen::MatrixXd columns);

/// Adds up leaves of rows in a binary tree that depends on their numbers alone, holding a sum for
/// each of its levels. Sums have arrays() and merge(), with what later rows add up to.
template <typename Sums>
class TreeSum {
 public:
  TreeSum(const Sums& none, Eigen::Index leaf_rows) : none_(none), leaf_rows_(leaf_rows) {}

  /// Where this row, counted from the first of all, is to be added; rows must come in order.
  Sums& at(Eigen::Index row) {
    if (leaf_ && row / leaf_rows_ != number_) close();
    if (!leaf_) leaf_.emplace(none_);
    number_ = row / leaf_rows_;
    return *leaf_;
  }

  /// The sum of all rows, with those of other processes. Nothing can be added afterwards.
  Sums total(Exchange* exchange) {
    if (leaf_) close();
    if (exchange == nullptr) return fold();
    Exchange::Numbers nodes;
    for (Node& node : nodes_) {
      nodes.push_back(static_cast<double>(node.level));
      nodes.push_back(static_cast<double>(node.index));
      write_arrays(node.sums.arrays(), nodes);
    }
    nodes_.clear();
    const Exchange::Numbers numbers =
        exchange->all(std::move(nodes), [&](const std::vector<Exchange::Numbers>& parts) {
          for (const Exchange::Numbers& part : parts) {
            for (const double* at = part.data(); at != part.data() + part.size();) {
              Sums sums = none_;
              const double* next = read_arrays(at + 2, sums.arrays());
              push(static_cast<Eigen::Index>(at[0]), static_cast<Eigen::Index>(at[1]),
                   std::move(sums));
              at = next;
            }
          }
          Sums whole = fold();
          Exchange::Numbers result;
          write_arrays(whole.arrays(), result);
          return result;
        });
    Sums whole = none_;
    read_arrays(numbers.data(), whole.arrays());
    return whole;
  }

 private:
  struct Node {
    Eigen::Index level, index;
    Sums sums;
  };

  void close() {
    push(0, number_, std::move(*leaf_));
    leaf_.reset();
  }
  /// Two neighbours that make a node of the next level are added at once.
  void push(Eigen::Index level, Eigen::Index index, Sums sums) {
    nodes_.push_back({level, index, std::move(sums)});
    while (nodes_.size() >= 2) {
      Node& right = nodes_.back();
      Node& left = nodes_[nodes_.size() - 2];
      if (left.level != right.level || left.index % 2 != 0 || right.index != left.index + 1) break;
      left.sums.merge(std::move(right.sums));
      ++left.level;
      left.index /= 2;
      nodes_.pop_back();
    }
  }
  /// What is left where the tree is not complete is added from the last on.
  Sums fold() {
    if (nodes_.empty()) return none_;
    while (nodes_.size() >= 2) {
      nodes_[nodes_.size() - 2].sums.merge(std::move(nodes_.back().sums));
      nodes_.pop_back();
    }
    return std::move(nodes_.back().sums);
  }

  const Sums none_;
  const Eigen::Index leaf_rows_;
  std::optional<Sums> leaf_;  // the open one
  Eigen::Index number_ = 0;
  std::deque<Node> nodes_;
};

}  // namespace waggle

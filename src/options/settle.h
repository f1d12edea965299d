#pragma once

namespace waggle {

/// Of two ways to rescale the recurrent matrix, the one not asked for is taken back: options that
/// are read on top of others have one of them already, and who gives the other means it alone; who
/// only takes one back leaves the other as it is. To be called on what is given, before that is
/// read; tables within are looked at too. `Source` is an OptionsReader's, with
///
///     bool is_none(node)                  stands for an optional without a value
///     void set_none(table, name)          as is_none understands
///     void for_each_table(table, visit)   visit(Table&), of those right below
template <typename Source>
void settle(typename Source::Table& table) {
  const auto* norm = Source::find(table, "operator_norm");
  const auto* radius = Source::find(table, "spectral_radius");
  if (norm && !radius && !Source::is_none(*norm)) Source::set_none(table, "spectral_radius");
  if (radius && !norm && !Source::is_none(*radius)) Source::set_none(table, "operator_norm");
  Source::for_each_table(table, [](typename Source::Table& inner) { settle<Source>(inner); });
}

}  // namespace waggle

/// {fmt}, compiled once for the whole program: every other file sees its declarations alone, which
/// takes a third of the time to compile. The templates named here are those its headers declare
/// and do not define.
#include <fmt/format-inl.h>

template auto fmt::detail::dragonbox::to_decimal<float>(float) noexcept
    -> fmt::detail::dragonbox::decimal_fp<float>;
template auto fmt::detail::dragonbox::to_decimal<double>(double) noexcept
    -> fmt::detail::dragonbox::decimal_fp<double>;
template auto fmt::detail::thousands_sep_impl<char>(fmt::detail::locale_ref)
    -> fmt::detail::thousands_sep_result<char>;
template auto fmt::detail::decimal_point_impl<char>(fmt::detail::locale_ref) -> char;

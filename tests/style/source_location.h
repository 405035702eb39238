// Only for clang-tidy: clang before 16 does not support libstdc++'s std::source_location.
#pragma once
#if defined(__clang__) && !__has_builtin(__builtin_source_location)
namespace std {
struct source_location {
    static constexpr source_location current() noexcept { return {}; }
    constexpr const char* file_name() const noexcept { return ""; }
    constexpr const char* function_name() const noexcept { return ""; }
    constexpr unsigned line() const noexcept { return 0; }
    constexpr unsigned column() const noexcept { return 0; }
};
} // namespace std
#endif

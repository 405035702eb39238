#pragma once

#include <cstddef>
#include <memory>
#include <new>
#include <type_traits>
#include <utility>
#include <vector>

namespace tilescope::query {

/// An allocator for large arrays. resize() leaves new elements uninitialised, so that the thread that writes
/// them is the first to touch their pages. Large blocks use large pages if the system has them.
template <class T> class NumberMemory {
public:
    using value_type = T;

    NumberMemory() = default;
    template <class Other> NumberMemory(const NumberMemory<Other>&) noexcept {}

    T* allocate(std::size_t count);
    void deallocate(T* at, std::size_t count) noexcept;

    template <class Other> void construct(Other* at) noexcept { ::new (static_cast<void*>(at)) Other; }
    template <class Other, class... Values> void construct(Other* at, Values&&... values)
    {
        ::new (static_cast<void*>(at)) Other(std::forward<Values>(values)...);
    }
    bool operator==(const NumberMemory&) const { return true; }
};

/// \throws std::bad_alloc
void* allocateNumbers(std::size_t bytes);
void freeNumbers(void* at, std::size_t bytes) noexcept;

template <class T> T* NumberMemory<T>::allocate(std::size_t count)
{
    static_assert(std::is_trivial_v<T>);
    if (count > std::size_t(-1) / 2 / sizeof(T))
        throw std::bad_array_new_length();
    return static_cast<T*>(allocateNumbers(count * sizeof(T)));
}

template <class T> void NumberMemory<T>::deallocate(T* at, std::size_t count) noexcept
{
    freeNumbers(at, count * sizeof(T));
}

template <class T> using Numbers = std::vector<T, NumberMemory<T>>;

} // namespace tilescope::query

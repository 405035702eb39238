#pragma once

#include "core/model/events.h"
#include "core/model/memory_category.h"
#include "core/model/run.h"
#include "core/model/spec.h"

#include <optional>
#include <span>
#include <string>
#include <string_view>

namespace tilescope {

/// One value of an enumeration and the word that specs, files and JSON use for it.
template <class E> struct EnumWord {
    E value;
    std::string_view word;
};

/// All values of `E`, an enumeration that text.cpp has words for, in display order.
template <class E> std::span<const EnumWord<E>> enumWords();

/// The word of a value.
template <class E> std::string_view wordOf(E value)
{
    for (const EnumWord<E>& entry : enumWords<E>())
        if (entry.value == value)
            return entry.word;
    return {};
}

/// The value of a word; none if there is none.
template <class E> std::optional<E> fromWord(std::string_view word)
{
    for (const EnumWord<E>& entry : enumWords<E>())
        if (entry.word == word)
            return entry.value;
    return {};
}

std::string toText(const DeviceRequest& device);        ///< auto, cpu, cuda, cuda:1
std::string toText(const CompileRequest& compile);      ///< none, graph, fused, inductor, package:FILE.pt2
std::string toText(const Checkpointing& checkpointing); ///< none, block:2, block:1+4, nested:3, attention

} // namespace tilescope

#pragma once

#include "core/exchange/tables/columns.h"
#include "core/exchange/tables/text.h"

#include <string>
#include <string_view>

namespace tilescope::exchange {

/// A JSON object as text, built member by member. Values are written as the cells of tables are; RawJson is
/// inserted as it is.
class JsonObject {
public:
    /// \param value  of any type that toCell() takes; an empty text is a text
    template <class T> JsonObject& add(std::string_view key, const T& value)
    {
        text_ += (text_.size() > 1 ? ", " : "") + jsonString(key) + ": " + cellJson(toCell(value));
        return *this;
    }
    RawJson json() const { return {text_ + "}"}; }

private:
    std::string text_ = "{";
};

/// A JSON array of what `value` returns for each item: anything that toCell() takes.
template <class Items, class Value> RawJson jsonList(const Items& items, Value value)
{
    std::string text = "[";
    for (const auto& item : items)
        text += (text.size() > 1 ? ", " : "") + cellJson(toCell(value(item)));
    return {text + "]"};
}

template <class Items> RawJson jsonList(const Items& items)
{
    return jsonList(items, [](const auto& item) { return item; });
}

} // namespace tilescope::exchange

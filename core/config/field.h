#pragma once

#include "core/config/value.h"
#include "core/model/text.h"

#include <type_traits>

// Conversion between each type of field of ExperimentSpec and Value. Values have been checked: words are
// known and numbers are in range.

namespace tilescope::config {

DeviceRequest deviceFromText(std::string_view text);
CompileRequest compileFromText(std::string_view text);
Checkpointing checkpointingFromText(std::string_view text);

inline Value toValue(const std::string& text)
{
    return text;
}
inline Value toValue(bool value)
{
    return value;
}
inline Value toValue(int value)
{
    return std::int64_t{value};
}
inline Value toValue(std::int64_t value)
{
    return value;
}
inline Value toValue(double value)
{
    return value;
}
inline Value toValue(const std::vector<std::string>& list)
{
    return list;
}
inline Value toValue(const DeviceRequest& device)
{
    return toText(device);
}
inline Value toValue(const CompileRequest& compile)
{
    return toText(compile);
}
inline Value toValue(const Checkpointing& checkpointing)
{
    return toText(checkpointing);
}
inline Value toValue(const std::optional<int>& value)
{
    return value ? Value(std::int64_t{*value}) : Value(Auto{});
}
inline Value toValue(const std::optional<Bytes>& value)
{
    return value ? Value(value->count) : Value(Auto{});
}
inline Value toValue(Bytes value)
{
    return value.count;
}
template <class E>
requires std::is_enum_v<E> Value toValue(E value)
{
    return std::string(wordOf(value));
}

inline void assign(std::string& field, const Value& value)
{
    field = std::get<std::string>(value);
}
inline void assign(bool& field, const Value& value)
{
    field = std::get<bool>(value);
}
inline void assign(int& field, const Value& value)
{
    field = static_cast<int>(std::get<std::int64_t>(value));
}
inline void assign(std::int64_t& field, const Value& value)
{
    field = std::get<std::int64_t>(value);
}
inline void assign(double& field, const Value& value)
{
    field = std::get<double>(value);
}
inline void assign(std::vector<std::string>& field, const Value& value)
{
    field = std::get<std::vector<std::string>>(value);
}
inline void assign(DeviceRequest& field, const Value& value)
{
    field = deviceFromText(std::get<std::string>(value));
}
inline void assign(CompileRequest& field, const Value& value)
{
    field = compileFromText(std::get<std::string>(value));
}
inline void assign(Checkpointing& field, const Value& value)
{
    field = checkpointingFromText(std::get<std::string>(value));
}
inline void assign(std::optional<int>& field, const Value& value)
{
    field.reset();
    if (const auto* number = std::get_if<std::int64_t>(&value))
        field = static_cast<int>(*number);
}
inline void assign(std::optional<Bytes>& field, const Value& value)
{
    field.reset();
    if (const auto* number = std::get_if<std::int64_t>(&value))
        field = Bytes{*number};
}
inline void assign(Bytes& field, const Value& value)
{
    field = Bytes{std::get<std::int64_t>(value)};
}
template <class E>
requires std::is_enum_v<E>
void assign(E& field, const Value& value)
{
    field = fromWord<E>(std::get<std::string>(value)).value();
}

} // namespace tilescope::config

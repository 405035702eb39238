#include "core/exchange/export/flat_builder.h"

#include <algorithm>

namespace tilescope::exchange {

namespace {

constexpr std::size_t kLength = sizeof(std::uint32_t);

} // namespace

void FlatBuilder::align(std::size_t alignment, std::size_t more)
{
    while ((reversed_.size() + more) % alignment != 0)
        reversed_.push_back('\0');
}

void FlatBuilder::pushOffset(Offset part)
{
    align(kLength);
    append(size() + static_cast<std::uint32_t>(kLength) - part.value);
}

FlatBuilder::Offset FlatBuilder::string(std::string_view text)
{
    align(kLength, text.size() + 1);
    reversed_.push_back('\0');
    reversed_.append(text.rbegin(), text.rend());
    append(static_cast<std::uint32_t>(text.size()));
    return {size()};
}

FlatBuilder::Offset FlatBuilder::vector(std::span<const Offset> parts)
{
    align(kLength);
    for (std::size_t i = parts.size(); i-- > 0;)
        pushOffset(parts[i]);
    append(static_cast<std::uint32_t>(parts.size()));
    return {size()};
}

FlatBuilder::Offset FlatBuilder::structs(std::string_view bytes, std::size_t count)
{
    constexpr std::size_t kAlignment = 8;
    align(kAlignment, bytes.size());
    reversed_.append(bytes.rbegin(), bytes.rend());
    append(static_cast<std::uint32_t>(count));
    return {size()};
}

void FlatBuilder::beginTable()
{
    fields_.clear();
    tableEnd_ = size();
}

void FlatBuilder::add(std::uint16_t field, Offset part)
{
    pushOffset(part);
    fields_.push_back({field, size()});
}

FlatBuilder::Offset FlatBuilder::endTable()
{
    push(std::int32_t{0}); // where the vtable is; filled in below
    const std::uint32_t table = size();
    std::uint16_t count = 0;
    for (const Field& field : fields_)
        count = std::max<std::uint16_t>(count, field.number + 1);
    for (std::uint16_t number = count; number-- > 0;) {
        const auto found = std::ranges::find(fields_, number, &Field::number);
        append(found == fields_.end() ? std::uint16_t{0} : static_cast<std::uint16_t>(table - found->at));
    }
    append(static_cast<std::uint16_t>(table - tableEnd_));
    append(static_cast<std::uint16_t>((count + 2) * sizeof(std::uint16_t)));
    const std::uint32_t distance = size() - table;
    constexpr unsigned kByte = 8;
    for (unsigned i = 0; i < kLength; ++i)
        reversed_[table - 1 - i] = static_cast<char>(distance >> (kByte * i));
    return {table};
}

std::string FlatBuilder::finish(Offset root)
{
    constexpr std::size_t kAlignment = 8;
    align(kAlignment, kLength);
    pushOffset(root);
    return {reversed_.rbegin(), reversed_.rend()};
}

} // namespace tilescope::exchange

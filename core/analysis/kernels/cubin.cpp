#include "core/analysis/kernels/cubin.h"

#include "core/analysis/kernels/mangled_name.h"

#include <algorithm>
#include <cstring>

namespace tilescope::analysis {

namespace {

/// Takes numbers from the front of bytes; `good` falls when there are none left.
class ByteReader {
public:
    explicit ByteReader(std::string_view data) : data_(data) {}

    template <class Number> Number take()
    {
        Number number{};
        if (data_.size() - at_ < sizeof(number)) {
            good = false;
            at_ = data_.size();
            return number;
        }
        std::memcpy(&number, data_.data() + at_, sizeof(number));
        at_ += sizeof(number);
        return number;
    }
    std::uint64_t takeUleb()
    {
        std::uint64_t number = 0;
        for (unsigned shift = 0; good; shift += 7) {
            const auto byte = take<std::uint8_t>();
            if (shift < 64)
                number |= static_cast<std::uint64_t>(byte & 0x7fU) << shift;
            if ((byte & 0x80U) == 0)
                break;
        }
        return number;
    }
    std::int64_t takeSleb()
    {
        std::uint64_t number = 0;
        unsigned shift = 0;
        std::uint8_t byte = 0x80;
        while (good && (byte & 0x80U) != 0) {
            byte = take<std::uint8_t>();
            if (shift < 64)
                number |= static_cast<std::uint64_t>(byte & 0x7fU) << shift;
            shift += 7;
        }
        if (shift < 64 && (byte & 0x40U) != 0)
            number |= ~std::uint64_t{0} << shift;
        return static_cast<std::int64_t>(number);
    }
    std::string_view takeText()
    {
        const std::size_t end = data_.find('\0', at_);
        if (end == std::string_view::npos) {
            good = false;
            return {};
        }
        const std::string_view text = data_.substr(at_, end - at_);
        at_ = end + 1;
        return text;
    }
    void skip(std::uint64_t bytes)
    {
        if (bytes > data_.size() - at_) {
            good = false;
            bytes = data_.size() - at_;
        }
        at_ += static_cast<std::size_t>(bytes);
    }
    std::size_t position() const { return at_; }
    bool isAtEnd() const { return !good || at_ >= data_.size(); }

    bool good = true;

private:
    std::string_view data_;
    std::size_t at_ = 0;
};

std::string_view part(std::string_view all, std::uint64_t from, std::uint64_t bytes)
{
    if (from > all.size() || bytes > all.size() - from)
        return {};
    return all.substr(static_cast<std::size_t>(from), static_cast<std::size_t>(bytes));
}

std::string_view textAt(std::string_view table, std::uint64_t at)
{
    if (at >= table.size())
        return {};
    const std::string_view rest = table.substr(static_cast<std::size_t>(at));
    return rest.substr(0, rest.find('\0'));
}

constexpr std::string_view kCodePrefix = ".text.";

} // namespace

/// Runs the programs of .debug_line, one after the other.
class Cubin::LineProgram {
public:
    /// \param targets  the kernel whose address a position of the section gets, and what is added to it
    using Targets = std::map<std::uint64_t, std::pair<std::string_view, std::int64_t>>;

    LineProgram(Cubin& cubin, std::string_view section, const Targets& targets)
        : cubin_(cubin), section_(section), targets_(targets)
    {
    }

    void run()
    {
        std::uint64_t at = 0;
        while (at + sizeof(std::uint32_t) <= section_.size()) {
            std::uint32_t length = 0;
            std::memcpy(&length, section_.data() + at, sizeof(length));
            constexpr std::uint32_t kLongForm = 0xfffffff0;
            const std::uint64_t end = at + sizeof(length) + length;
            if (length >= kLongForm || end > section_.size())
                return;
            runUnit(at + sizeof(length), end);
            at = end;
        }
    }

private:
    struct Header {
        std::uint8_t least = 1; ///< bytes of an instruction
        std::int8_t lineBase = 0;
        std::uint8_t lineRange = 1;
        std::uint8_t opcodeBase = 1;
        std::vector<std::uint8_t> operands; ///< of the standard operations
    };

    void runUnit(std::uint64_t from, std::uint64_t end)
    {
        ByteReader in(section_.substr(0, static_cast<std::size_t>(end)));
        in.skip(from);
        const auto version = in.take<std::uint16_t>();
        if (version < 2 || version > 4)
            return;
        const auto headerBytes = in.take<std::uint32_t>();
        const std::uint64_t program = in.position() + std::uint64_t{headerBytes};
        Header header;
        header.least = in.take<std::uint8_t>();
        if (version >= 4)
            in.take<std::uint8_t>(); // operations of an instruction
        in.take<std::uint8_t>();     // is_stmt
        header.lineBase = in.take<std::int8_t>();
        header.lineRange = in.take<std::uint8_t>();
        header.opcodeBase = in.take<std::uint8_t>();
        if (!in.good || header.lineRange == 0 || header.opcodeBase == 0 || program > end)
            return;
        for (int i = 1; i < header.opcodeBase; ++i)
            header.operands.push_back(in.take<std::uint8_t>());
        std::vector<std::string_view> folders{""};
        for (std::string_view folder = in.takeText(); !folder.empty(); folder = in.takeText())
            folders.push_back(folder);
        const auto firstFile = static_cast<std::uint32_t>(cubin_.files_.size());
        for (std::string_view name = in.takeText(); !name.empty(); name = in.takeText()) {
            const std::uint64_t folder = in.takeUleb();
            in.takeUleb(); // time
            in.takeUleb(); // bytes
            addFile(folder < folders.size() ? folders[static_cast<std::size_t>(folder)] : "", name);
        }
        if (!in.good || in.position() > program)
            return;
        in.skip(program - in.position());
        files_ = firstFile;
        firstRow_ = cubin_.rows_.size();
        row_ = {};
        row_.line = 1;
        row_.file = fileOf(1);
        kernel_ = {};
        while (!in.isAtEnd())
            step(in, header);
    }

    void addFile(std::string_view folder, std::string_view name)
    {
        std::string path(name);
        if (!name.starts_with('/') && !folder.empty())
            path = std::string(folder) + "/" + path;
        cubin_.files_.push_back(std::move(path));
    }

    std::uint32_t fileOf(std::uint64_t number) const
    {
        const std::uint64_t index = files_ + number - 1;
        return number > 0 && index < cubin_.files_.size() ? static_cast<std::uint32_t>(index) : kNoFile;
    }

    void step(ByteReader& in, const Header& header)
    {
        const auto code = in.take<std::uint8_t>();
        if (code >= header.opcodeBase) {
            const int special = code - header.opcodeBase;
            row_.address += static_cast<std::uint64_t>(special / header.lineRange) * header.least;
            row_.line += static_cast<std::uint32_t>(header.lineBase + special % header.lineRange);
            return emit();
        }
        switch (code) {
        case 0:
            return extended(in);
        case 1: // copy
            return emit();
        case 2: // advance_pc
            row_.address += in.takeUleb() * header.least;
            return;
        case 3: // advance_line
            row_.line += static_cast<std::uint32_t>(in.takeSleb());
            return;
        case 4: // set_file
            row_.file = fileOf(in.takeUleb());
            return;
        case 8: // const_add_pc
            row_.address +=
                static_cast<std::uint64_t>((255 - header.opcodeBase) / header.lineRange) * header.least;
            return;
        case 9: // fixed_advance_pc
            row_.address += in.take<std::uint16_t>();
            return;
        default:
            for (std::uint8_t i = 0; i < header.operands[code - 1U]; ++i)
                in.takeUleb();
        }
    }

    void extended(ByteReader& in)
    {
        const std::uint64_t bytes = in.takeUleb();
        const std::size_t begin = in.position();
        const auto code = bytes > 0 ? in.take<std::uint8_t>() : std::uint8_t{0};
        constexpr std::uint8_t kInlined = 0x90;
        if (code == 1) { // end_sequence
            row_.isEnd = true;
            emit();
            row_ = {};
            row_.line = 1;
            row_.file = fileOf(1);
            kernel_ = {};
            firstRow_ = cubin_.rows_.size();
        } else if (code == 2) { // set_address
            const auto target = targets_.find(in.position());
            const auto address = bytes > sizeof(std::uint64_t) ? in.take<std::uint64_t>()
                                                               : std::uint64_t{in.take<std::uint32_t>()};
            kernel_ = target == targets_.end() ? std::string_view() : target->second.first;
            row_.address =
                address + static_cast<std::uint64_t>(target == targets_.end() ? 0 : target->second.second);
        } else if (code == kInlined) {
            row_.call = static_cast<std::uint32_t>(in.takeUleb());
            row_.function = static_cast<std::uint32_t>(in.takeUleb());
        }
        const std::size_t read = in.position() - begin;
        if (read > bytes)
            in.good = false;
        else
            in.skip(bytes - read);
    }

    void emit()
    {
        Row row = row_;
        // Numbers of call sites count the rows of their kernel.
        if (row.call > 0)
            row.call += static_cast<std::uint32_t>(firstRow_);
        const auto number = static_cast<std::uint32_t>(cubin_.rows_.size());
        cubin_.rows_.push_back(row);
        if (!kernel_.empty())
            cubin_.rowsOf_[std::string(kernel_)].push_back(number);
    }

    static constexpr std::uint32_t kNoFile = ~0U;

    Cubin& cubin_;
    std::string_view section_;
    const Targets& targets_;
    std::uint32_t files_ = 0;
    std::size_t firstRow_ = 0;
    Row row_;
    std::string_view kernel_;
};

Cubin::Cubin(std::string_view elf)
{
    constexpr std::string_view kMagic("\x7f"
                                      "ELF\x02\x01",
                                      6); // 64 bits, little-endian
    if (!elf.starts_with(kMagic) || elf.size() < 64)
        return;
    ByteReader header(elf);
    header.skip(40);
    const auto tableAt = header.take<std::uint64_t>();
    header.skip(10);
    const auto entryBytes = header.take<std::uint16_t>();
    const auto count = header.take<std::uint16_t>();
    const auto namesIndex = header.take<std::uint16_t>();
    if (entryBytes != 64 || part(elf, tableAt, std::uint64_t{count} * entryBytes).empty())
        return;
    std::vector<Section> sections;
    std::vector<std::uint32_t> names;
    std::uint32_t symbolTable = 0;
    std::uint32_t symbolNames = 0;
    for (std::uint32_t i = 0; i < count; ++i) {
        ByteReader in(part(elf, tableAt + std::uint64_t{i} * entryBytes, entryBytes));
        names.push_back(in.take<std::uint32_t>());
        Section section;
        section.type = in.take<std::uint32_t>();
        in.skip(16);
        const auto at = in.take<std::uint64_t>();
        const auto bytes = in.take<std::uint64_t>();
        const auto link = in.take<std::uint32_t>();
        section.info = in.take<std::uint32_t>();
        constexpr std::uint32_t kSymbols = 2;
        constexpr std::uint32_t kNoBits = 8;
        if (section.type != kNoBits)
            section.bytes = part(elf, at, bytes);
        if (section.type == kSymbols) {
            symbolTable = i;
            symbolNames = link;
        }
        sections.push_back(section);
    }
    if (namesIndex >= sections.size() || symbolNames >= sections.size())
        return;
    for (std::size_t i = 0; i < sections.size(); ++i)
        sections[i].name = textAt(sections[namesIndex].bytes, names[i]);

    constexpr std::size_t kSymbolBytes = 24;
    constexpr unsigned kFunction = 2;
    constexpr unsigned kSectionSymbol = 3;
    std::vector<Symbol> symbols;
    const std::string_view table = sections[symbolTable].bytes;
    for (std::size_t at = 0; symbolTable > 0 && at + kSymbolBytes <= table.size(); at += kSymbolBytes) {
        ByteReader in(table.substr(at, kSymbolBytes));
        Symbol symbol{.name = textAt(sections[symbolNames].bytes, in.take<std::uint32_t>())};
        const unsigned type = in.take<std::uint8_t>() & 0xfU;
        in.skip(1);
        symbol.section = in.take<std::uint16_t>();
        if (type == kFunction)
            symbols_.try_emplace(std::string(symbol.name), static_cast<std::uint32_t>(symbols.size()));
        if (type == kSectionSymbol && symbol.section < sections.size())
            symbol.name = sections[symbol.section].name;
        if (symbol.name.starts_with(kCodePrefix))
            symbol.name.remove_prefix(kCodePrefix.size());
        symbols.push_back(symbol);
    }

    std::string_view lines;
    std::uint32_t linesIndex = 0;
    for (std::uint32_t i = 0; i < sections.size(); ++i) {
        if (sections[i].name == ".debug_line") {
            lines = sections[i].bytes;
            linesIndex = i;
        } else if (sections[i].name == ".debug_str") {
            strings_ = sections[i].bytes;
        }
    }
    LineProgram::Targets targets;
    for (const Section& section : sections) {
        constexpr std::uint32_t kRelocationsWithAddend = 4;
        constexpr std::uint32_t kRelocations = 9;
        const bool hasAddend = section.type == kRelocationsWithAddend;
        if (linesIndex == 0 || (!hasAddend && section.type != kRelocations) ||
            (section.info != linesIndex && section.name.find(".debug_line") == std::string_view::npos) ||
            section.name.find(".nv_debug_line") != std::string_view::npos)
            continue;
        ByteReader in(section.bytes);
        while (!in.isAtEnd()) {
            const auto at = in.take<std::uint64_t>();
            const auto symbol = static_cast<std::uint32_t>(in.take<std::uint64_t>() >> 32);
            const std::int64_t addend = hasAddend ? in.take<std::int64_t>() : 0;
            if (in.good && symbol < symbols.size())
                targets[at] = {symbols[symbol].name, addend};
        }
    }
    LineProgram(*this, lines, targets).run();
    for (auto& [symbol, rows] : rowsOf_)
        std::ranges::stable_sort(rows, {}, [this](std::uint32_t row) { return rows_[row].address; });
}

std::optional<Cubin::Place> Cubin::placeOf(const std::string& symbol, std::uint64_t offset) const
{
    const auto found = rowsOf_.find(symbol);
    if (found == rowsOf_.end())
        return std::nullopt;
    // The last row at or before the instruction.
    const auto after = std::ranges::upper_bound(found->second, offset, {},
                                                [this](std::uint32_t row) { return rows_[row].address; });
    if (after == found->second.begin())
        return std::nullopt;
    const Row* row = &rows_[*std::prev(after)];
    const auto lineOf = [this](const Row& at) {
        return SourceLine{at.file < files_.size() ? files_[at.file] : std::string(), at.line};
    };
    if (row->isEnd || row->line == 0)
        return std::nullopt;
    Place place{.line = lineOf(*row)};
    if (row->call == 0)
        return place;
    const std::string name(textAt(strings_, row->function));
    place.inlined = isMangled(name) ? demangled(name) : name;
    // Calls come before what they inline, so the chain ends.
    for (auto call = row->call; call > 0 && call <= rows_.size() && &rows_[call - 1] < row; call = row->call)
        row = &rows_[call - 1];
    place.caller = lineOf(*row);
    return place;
}

std::optional<std::uint32_t> Cubin::indexOf(const std::string& symbol) const
{
    const auto found = symbols_.find(symbol);
    return found == symbols_.end() ? std::nullopt : std::optional(found->second);
}

} // namespace tilescope::analysis

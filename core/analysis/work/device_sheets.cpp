#include "core/analysis/work/device_sheets.h"

#include "core/analysis/kernels/rules_file.h"
#include "core/base/paths.h"
#include "core/base/spelling.h"
#include "core/model/text.h"

#include <algorithm>
#include <array>
#include <cctype>

namespace tilescope::analysis {

namespace {

constexpr double kTera = 1e12;
constexpr double kGiga = 1e9;
constexpr double kMega = 1e6;
constexpr std::array<std::string_view, 13> kKeys{
    "name",       "match",           "fp32",  "tf32", "bf16", "fp16", "fp8", "memory", "link", "clock",
    "capability", "multiprocessors", "source"};

DeviceSheet sheetOf(const YAML::Node& node, const std::filesystem::path& file)
{
    DeviceSheet sheet;
    for (const auto& entry : node) {
        const auto key = entry.first.as<std::string>();
        if (key == "name")
            sheet.name = entry.second.as<std::string>();
        else if (key == "match")
            sheet.match = entry.second.as<std::vector<std::string>>();
        else if (key == "memory")
            sheet.bytes = entry.second.as<double>() * kGiga;
        else if (key == "link")
            sheet.link = entry.second.as<double>() * kGiga;
        else if (key == "clock")
            sheet.clock = entry.second.as<double>() * kMega;
        else if (key == "capability")
            sheet.capability = entry.second.as<std::string>();
        else if (key == "multiprocessors")
            sheet.multiprocessors = entry.second.as<int>();
        else if (key == "source")
            sheet.source = entry.second.as<std::string>();
        else if (const auto precision = fromWord<Precision>(key))
            sheet.flops[*precision] = entry.second.as<double>() * kTera;
        else
            throw errorAt(file, entry.first.Mark(), "unknown key '" + key + "'", didYouMean(key, kKeys));
    }
    if (sheet.name.empty() || sheet.match.empty())
        throw errorAt(file, node.Mark(), "a device needs a name and words to match", {});
    return sheet;
}

/// Whether the name contains the word as a whole word: `L4` is not in `L40S`, nor `A10` in `A100`.
bool hasWord(std::string_view name, std::string_view word)
{
    const auto inWord = [](char c) { return std::isalnum(static_cast<unsigned char>(c)) != 0; };
    for (std::size_t at = name.find(word); at != std::string_view::npos; at = name.find(word, at + 1)) {
        const std::size_t end = at + word.size();
        if ((at == 0 || !inWord(name[at - 1])) && (end == name.size() || !inWord(name[end])))
            return true;
    }
    return false;
}

} // namespace

std::optional<Precision> precisionInName(std::string_view shortName)
{
    constexpr std::array<std::pair<std::string_view, Precision>, 5> kWords{{{"fp8", Precision::Fp8},
                                                                            {"bf16", Precision::Bf16},
                                                                            {"fp16", Precision::Fp16},
                                                                            {"tf32", Precision::Tf32},
                                                                            {"fp32", Precision::Fp32}}};
    for (const auto& [word, precision] : kWords)
        if (shortName.find(word) != std::string_view::npos)
            return precision;
    return {};
}

Ceilings DeviceSheet::ceilings(Precision precision) const
{
    const auto found = flops.find(precision);
    return {found == flops.end() ? std::nullopt : std::optional(found->second), bytes};
}

DeviceSheets DeviceSheets::load(const std::filesystem::path& file)
{
    DeviceSheets sheets;
    try {
        for (const YAML::Node& node : loadRulesFile(file)["devices"])
            sheets.sheets_.push_back(sheetOf(node, file));
    } catch (const YAML::Exception& exception) {
        throw errorAt(file, exception.mark, "is not understood: " + exception.msg, {});
    }
    return sheets;
}

const DeviceSheets& DeviceSheets::standard()
{
    static const DeviceSheets sheets = load(resourcesDirectory() / "devices.yaml");
    return sheets;
}

const DeviceSheet* DeviceSheets::find(std::string_view driverName) const
{
    const DeviceSheet* best = nullptr;
    for (const DeviceSheet& sheet : sheets_) {
        const bool fits =
            std::all_of(sheet.match.begin(), sheet.match.end(),
                        [driverName](const std::string& word) { return hasWord(driverName, word); });
        if (fits && (!best || sheet.match.size() > best->match.size()))
            best = &sheet;
    }
    return best;
}

} // namespace tilescope::analysis

#include "core/base/error.h"
#include "core/base/number_text.h"
#include "core/base/paths.h"
#include "core/config/spec_file.h"
#include "core/config/yaml_tree.h"
#include "core/model/language_model.h"

#include <algorithm>
#include <array>
#include <fstream>
#include <sstream>
#include <tuple>

namespace tilescope::config {

namespace {

constexpr std::array kDefaults{"batch", "context", "vocab", "precision", "mode"};

[[noreturn]] void refusePreset(std::string what, std::string where)
{
    throw Error{.what = std::move(what),
                .where = std::move(where),
                .remedy =
                    "a preset gives d_model, d_ff, layers and heads, each a positive integer, and may give "
                    "handouts and defaults of batch, context, vocab, precision and mode",
                .kind = ErrorKind::Environment};
}

std::int64_t positive(const SpecValue::Entry& entry, const std::string& where)
{
    const auto number = parseNumber<std::int64_t>(entry.value.text);
    if (!number || *number < 1 || *number > 1'000'000)
        refusePreset("bad value of " + entry.key, placeOf(where, entry.position));
    return *number;
}

SizePreset readPreset(const std::filesystem::path& file)
{
    std::ifstream stream(file);
    std::stringstream text;
    text << stream.rdbuf();
    const std::string where = file.string();
    if (!stream)
        refusePreset("cannot be read", where);
    const SpecValue root = readYaml(text.str(), where);
    if (root.kind != SpecValue::Kind::Map)
        refusePreset("not a preset", where);
    SizePreset preset{.name = file.stem().string()};
    for (const SpecValue::Entry& entry : root.entries()) {
        if (entry.key == "d_model")
            preset.dModel = positive(entry, where);
        else if (entry.key == "d_ff")
            preset.dFf = positive(entry, where);
        else if (entry.key == "layers")
            preset.layers = positive(entry, where);
        else if (entry.key == "heads")
            preset.heads = positive(entry, where);
        else if (entry.key == "handouts")
            preset.handouts = entry.value.text;
        else if (std::ranges::find(kDefaults, entry.key) != kDefaults.end())
            preset.defaults.emplace_back(entry.key, entry.value.text);
        else
            refusePreset("unknown key '" + entry.key + "'", placeOf(where, entry.position));
    }
    if (preset.dModel == 0 || preset.dFf == 0 || preset.layers == 0 || preset.heads == 0)
        refusePreset("a number is missing", where);
    return preset;
}

std::vector<SizePreset> readPresets()
{
    const std::filesystem::path folder = resourcesDirectory() / "presets";
    std::vector<SizePreset> presets;
    std::error_code problem;
    for (const auto& file : std::filesystem::directory_iterator(folder, problem))
        if (file.path().extension() == ".yaml")
            presets.push_back(readPreset(file.path()));
    if (std::ranges::find(presets, ExperimentSpec{}.size, &SizePreset::name) == presets.end())
        refusePreset("no preset '" + ExperimentSpec{}.size + "'", folder.string());
    std::ranges::sort(presets, {}, [](const SizePreset& preset) {
        return std::tuple(preset.dModel, preset.layers, preset.defaults.size(), preset.name);
    });
    return presets;
}

} // namespace

const std::vector<SizePreset>& sizePresets()
{
    static const std::vector<SizePreset> presets = readPresets();
    return presets;
}

std::int64_t parameterCount(const ExperimentSpec& spec)
{
    const auto weights = [](const LinearMap& map) { return map.in * map.out; };
    std::int64_t block = 2 * spec.dModel; // two norms
    for (const LinearMap& map : blockMaps(spec))
        block += weights(map);
    return spec.vocab * spec.dModel + spec.layers * block + spec.dModel + weights(headMap(spec));
}

} // namespace tilescope::config

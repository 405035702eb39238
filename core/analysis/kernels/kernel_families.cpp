#include "core/analysis/kernels/kernel_families.h"

#include "core/analysis/kernels/kernel_name.h"
#include "core/analysis/kernels/rules_file.h"
#include "core/base/paths.h"
#include "core/base/spelling.h"

#include <algorithm>
#include <array>

namespace tilescope::analysis {

namespace {

constexpr std::array<std::string_view, kKernelFamilies> kWords{
    "matmul",    "attention", "softmax", "norm",   "elementwise", "reduction",
    "embedding", "optimizer", "copy",    "memset", "collective",  "other"};

constexpr std::array<std::string_view, 8> kRuleKeys{"family",  "name",  "root",  "subject",
                                                    "library", "short", "typed", "does"};

bool containsAny(std::string_view text, const std::vector<std::string>& words)
{
    return words.empty() || std::any_of(words.begin(), words.end(), [text](const std::string& word) {
               return text.find(word) != std::string_view::npos;
           });
}

std::vector<std::string> wordsIn(const YAML::Node& node)
{
    if (node.IsSequence())
        return node.as<std::vector<std::string>>();
    return {node.as<std::string>()};
}

} // namespace

/// A rule matches if, for each non-empty list, one of its words occurs in that part of the name.
struct KernelFamilies::Rule {
    KernelFamily family = KernelFamily::Other;
    std::vector<std::string> name;    ///< anywhere in the full name
    std::vector<std::string> root;    ///< in the name of the function itself
    std::vector<std::string> subject; ///< in the functor that it applies
    std::vector<std::string> library; ///< the complete short name of a library's kernel
    bool typed = true;                ///< whether the short name includes the type of the values
    std::string shortName;            ///< the short name without the type
    std::string does;
};

std::string_view wordOf(KernelFamily family)
{
    return kWords[static_cast<std::size_t>(family)];
}

KernelFamilies::KernelFamilies() : rules_(std::make_unique<std::vector<Rule>>()) {}
KernelFamilies::~KernelFamilies() = default;
KernelFamilies::KernelFamilies(KernelFamilies&&) noexcept = default;
KernelFamilies& KernelFamilies::operator=(KernelFamilies&&) noexcept = default;

KernelFamilies KernelFamilies::load(const std::filesystem::path& file)
{
    KernelFamilies families;
    try {
        const YAML::Node root = loadRulesFile(file);
        for (const YAML::Node& node : root["rules"]) {
            Rule rule;
            for (const auto& entry : node) {
                const auto key = entry.first.as<std::string>();
                if (key == "family") {
                    const auto word = entry.second.as<std::string>();
                    const auto found = std::find(kWords.begin(), kWords.end(), word);
                    if (found == kWords.end())
                        throw errorAt(file, entry.second.Mark(), "there is no family '" + word + "'",
                                      didYouMean(word, kWords));
                    rule.family = static_cast<KernelFamily>(found - kWords.begin());
                } else if (key == "name") {
                    rule.name = wordsIn(entry.second);
                } else if (key == "root") {
                    rule.root = wordsIn(entry.second);
                } else if (key == "subject") {
                    rule.subject = wordsIn(entry.second);
                } else if (key == "library") {
                    rule.library = wordsIn(entry.second);
                } else if (key == "typed") {
                    rule.typed = entry.second.as<bool>();
                } else if (key == "short") {
                    rule.shortName = entry.second.as<std::string>();
                } else if (key == "does") {
                    rule.does = entry.second.as<std::string>();
                } else {
                    throw errorAt(file, entry.first.Mark(), "unknown key '" + key + "'",
                                  didYouMean(key, kRuleKeys));
                }
            }
            families.rules_->push_back(std::move(rule));
        }
    } catch (const YAML::Exception& error) {
        throw errorAt(file, error.mark, error.msg, "correct the rule");
    }
    return families;
}

const KernelFamilies& KernelFamilies::standard()
{
    static const KernelFamilies families = load(resourcesDirectory() / "families" / "rules.yaml");
    return families;
}

KernelDescription KernelFamilies::describe(std::string_view name, DeviceEventKind kind) const
{
    if (kind == DeviceEventKind::Memcpy)
        return {KernelFamily::Copy, std::string(name), "copies memory by the copy engine"};
    if (kind == DeviceEventKind::Memset)
        return {KernelFamily::Memset, std::string(name), "sets memory to a value"};
    const KernelName parts = parseKernelName(name);
    KernelDescription description;
    description.shortName = libraryShortName(parts);
    const auto rule = std::find_if(rules_->begin(), rules_->end(), [&](const Rule& r) {
        const bool isLibrarys = r.library.empty() || std::find(r.library.begin(), r.library.end(),
                                                               description.shortName) != r.library.end();
        return isLibrarys && containsAny(name, r.name) && containsAny(parts.root, r.root) &&
               containsAny(parts.subject, r.subject);
    });
    if (rule != rules_->end()) {
        description.family = rule->family;
        description.does = rule->does;
    }
    if (description.shortName.empty()) {
        description.shortName =
            rule != rules_->end() && !rule->shortName.empty() ? rule->shortName : subjectWords(parts.subject);
        if (!parts.type.empty() && (rule == rules_->end() || rule->typed))
            description.shortName += " " + std::string(parts.type);
    }
    if (description.shortName.empty())
        description.shortName = name;
    return description;
}

} // namespace tilescope::analysis

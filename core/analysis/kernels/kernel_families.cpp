#include "core/analysis/kernels/kernel_families.h"

#include "core/analysis/kernels/identifier_words.h"
#include "core/analysis/kernels/kernel_name.h"
#include "core/analysis/kernels/mangled_name.h"
#include "core/analysis/kernels/rules_file.h"
#include "core/base/paths.h"
#include "core/base/spelling.h"

#include <algorithm>
#include <array>

namespace tilescope::analysis {

namespace {

constexpr std::array<std::string_view, kKernelFamilies> kWords{
    "matmul",    "convolution", "attention", "softmax", "norm",   "elementwise", "reduction",
    "embedding", "scan",        "optimizer", "copy",    "memset", "collective",  "other"};

constexpr std::array<std::string_view, 11> kRuleKeys{
    "family", "name", "root", "subject", "library", "words", "unless", "source", "short", "typed", "does"};

constexpr std::size_t kMostNameCharacters = 4096;
constexpr std::size_t kMostShortCharacters = 120;

bool containsAny(std::string_view text, const std::vector<std::string>& words)
{
    return words.empty() || std::any_of(words.begin(), words.end(), [text](const std::string& word) {
               return text.find(word) != std::string_view::npos;
           });
}

bool containsAny(const IdentifierWords& identifier, const std::vector<std::string>& words)
{
    return std::ranges::any_of(words, [&](const std::string& word) { return identifier.contain(word); });
}

std::vector<std::string> wordsIn(const YAML::Node& node)
{
    if (node.IsSequence())
        return node.as<std::vector<std::string>>();
    return {node.as<std::string>()};
}

KernelFamily familyIn(const YAML::Node& node, const std::filesystem::path& file)
{
    const auto word = node.as<std::string>();
    const auto* const found = std::find(kWords.begin(), kWords.end(), word);
    if (found == kWords.end())
        throw errorAt(file, node.Mark(), "there is no family '" + word + "'", didYouMean(word, kWords));
    return static_cast<KernelFamily>(found - kWords.begin());
}

/// Shortens a text at a character's border.
void shorten(std::string& text, std::size_t most)
{
    if (text.size() <= most)
        return;
    std::size_t end = most - std::string_view("…").size();
    while (end > 0 && (static_cast<unsigned char>(text[end]) & 0xC0U) == 0x80U)
        --end;
    text.resize(end);
    text += "…";
}

/// Whether a function's name says nothing, so that its namespace has to: gemvx::kernel.
bool isBare(const KernelName& name)
{
    constexpr std::array<std::string_view, 6> kBare{"kernel", "kernel_impl", "kernel_entry",
                                                    "run",    "impl",        "main"};
    return name.subject == name.root && name.qualified.size() > name.root.size() + 2 &&
           std::ranges::find(kBare, name.root) != kBare.end();
}

/// The subject as words, with its innermost namespace if the name says nothing.
std::string wordsOfSubject(const KernelName& name)
{
    std::string words = subjectWords(name.subject);
    if (!isBare(name))
        return words;
    const std::string_view space = name.qualified.substr(0, name.qualified.size() - name.root.size() - 2);
    const std::size_t colon = space.rfind(':');
    const std::string_view last = colon == std::string_view::npos ? space : space.substr(colon + 1);
    return last.find_first_of("()<> ") == std::string_view::npos ? subjectWords(last) + " " + words : words;
}

} // namespace

/// A rule matches if, for each non-empty list, one of its words occurs in that part of the name, and none of
/// `unless`.
struct KernelFamilies::Rule {
    KernelFamily family = KernelFamily::Other;
    std::vector<std::string> name;    ///< anywhere in the full name
    std::vector<std::string> root;    ///< in the name of the function itself
    std::vector<std::string> subject; ///< in the functor that it applies
    std::vector<std::string> library; ///< the complete short name of a library's kernel
    std::vector<std::string>
        words; ///< among the words of the subject, as IdentifierWords::contain() takes them
    std::vector<std::string> unless; ///< likewise
    bool typed = true;               ///< whether the short name includes the type of the values
    std::string shortName;           ///< the short name without the type
    std::string does;

    static Rule from(const YAML::Node& node, const std::filesystem::path& file);
    static std::unique_ptr<std::vector<Rule>> read(const std::filesystem::path& file);

    bool allows(const IdentifierWords& identifier) const
    {
        return (words.empty() || containsAny(identifier, words)) && !containsAny(identifier, unless);
    }

    bool matches(std::string_view full, const KernelName& parts, const IdentifierWords& identifier,
                 const std::string& ofLibrary) const
    {
        return (library.empty() || std::ranges::find(library, ofLibrary) != library.end()) &&
               containsAny(full, name) && containsAny(parts.root, root) &&
               containsAny(parts.subject, subject) && allows(identifier);
    }
};

KernelFamilies::Rule KernelFamilies::Rule::from(const YAML::Node& node, const std::filesystem::path& file)
{
    Rule rule;
    for (const auto& entry : node) {
        const auto key = entry.first.as<std::string>();
        const std::pair<const char*, std::vector<std::string>*> lists[] = {
            {"name", &rule.name},       {"root", &rule.root},   {"subject", &rule.subject},
            {"library", &rule.library}, {"words", &rule.words}, {"unless", &rule.unless}};
        const auto* const list =
            std::ranges::find_if(lists, [&key](const auto& each) { return key == each.first; });
        if (list != std::end(lists))
            *list->second = wordsIn(entry.second);
        else if (key == "family")
            rule.family = familyIn(entry.second, file);
        else if (key == "typed")
            rule.typed = entry.second.as<bool>();
        else if (key == "short")
            rule.shortName = entry.second.as<std::string>();
        else if (key == "does")
            rule.does = entry.second.as<std::string>();
        else if (key != "source") // for readers of the file
            throw errorAt(file, entry.first.Mark(), "unknown key '" + key + "'", didYouMean(key, kRuleKeys));
    }
    return rule;
}

std::unique_ptr<std::vector<KernelFamilies::Rule>>
KernelFamilies::Rule::read(const std::filesystem::path& file)
{
    auto rules = std::make_unique<std::vector<Rule>>();
    try {
        const YAML::Node root = loadRulesFile(file);
        for (const YAML::Node& node : root["rules"])
            rules->push_back(from(node, file));
    } catch (const YAML::Exception& error) {
        throw errorAt(file, error.mark, error.msg, "correct the rule");
    }
    return rules;
}

std::string_view wordOf(KernelFamily family)
{
    return kWords[static_cast<std::size_t>(family)];
}

KernelFamilies::KernelFamilies() = default;
KernelFamilies::~KernelFamilies() = default;
KernelFamilies::KernelFamilies(KernelFamilies&&) noexcept = default;
KernelFamilies& KernelFamilies::operator=(KernelFamilies&&) noexcept = default;

KernelFamilies KernelFamilies::load(const std::filesystem::path& file, const std::filesystem::path& ops)
{
    KernelFamilies families;
    families.rules_ = Rule::read(file);
    families.ops_ = ops.empty() ? std::make_unique<std::vector<Rule>>() : Rule::read(ops);
    return families;
}

const KernelFamilies& KernelFamilies::standard()
{
    static const KernelFamilies families = load(resourcesDirectory() / "families" / "rules.yaml",
                                                resourcesDirectory() / "families" / "ops.yaml");
    return families;
}

KernelDescription KernelFamilies::describe(std::string_view name, DeviceEventKind kind) const
{
    if (kind == DeviceEventKind::Memcpy)
        return {KernelFamily::Copy, std::string(name), "copies memory by the copy engine"};
    if (kind == DeviceEventKind::Memset)
        return {KernelFamily::Memset, std::string(name), "sets memory to a value"};
    const std::string readable = readableKernelName(name.substr(0, kMostNameCharacters));
    const KernelName parts = parseKernelName(readable);
    const IdentifierWords words(isBare(parts) ? parts.qualified : parts.subject);
    KernelDescription description;
    description.shortName = libraryShortName(parts);
    const auto rule = std::ranges::find_if(*rules_, [&](const Rule& each) {
        return each.matches(readable, parts, words, description.shortName);
    });
    if (rule != rules_->end()) {
        description.family = rule->family;
        description.does = rule->does;
    }
    if (description.shortName.empty() && parts.subject.find(' ') == std::string_view::npos) {
        description.shortName =
            rule != rules_->end() && !rule->shortName.empty() ? rule->shortName : wordsOfSubject(parts);
        if (!parts.type.empty() && (rule == rules_->end() || rule->typed))
            description.shortName += " " + std::string(parts.type);
    }
    if (description.shortName.empty())
        description.shortName = readable;
    shorten(description.shortName, kMostShortCharacters);
    return description;
}

KernelFamily KernelFamilies::familyOfOp(std::string_view op) const
{
    op = op.substr(0, kMostNameCharacters);
    KernelName parts{
        .qualified = op, .root = op.substr(op.rfind(':') + 1), .subject = {}, .type = {}, .arguments = {}};
    parts.subject = parts.root;
    const IdentifierWords words(parts.subject);
    const auto rule =
        std::ranges::find_if(*ops_, [&](const Rule& each) { return each.matches(op, parts, words, {}); });
    return rule == ops_->end() ? KernelFamily::Other : rule->family;
}

} // namespace tilescope::analysis

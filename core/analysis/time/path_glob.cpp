#include "core/analysis/time/path_glob.h"

#include "core/base/error.h"
#include "core/model/set_up_path.h"

#include <algorithm>
#include <array>
#include <cctype>

namespace tilescope::analysis {

namespace {

std::vector<std::string_view> split(std::string_view path)
{
    std::vector<std::string_view> components;
    for (;;) {
        const std::size_t slash = path.find('/');
        components.push_back(path.substr(0, slash));
        if (slash == std::string_view::npos)
            return components;
        path.remove_prefix(slash + 1);
    }
}

/// Matches `*` and `?` within one component, with backtracking to the last star. Worst case O(text x
/// pattern).
bool componentMatches(std::string_view pattern, std::string_view text)
{
    std::size_t p = 0;
    std::size_t t = 0;
    std::size_t afterStar = std::string_view::npos;
    std::size_t retry = 0;
    while (t < text.size()) {
        if (p < pattern.size() && pattern[p] == '*') {
            afterStar = ++p;
            retry = t;
        } else if (p < pattern.size() && (pattern[p] == '?' || pattern[p] == text[t])) {
            ++p;
            ++t;
        } else if (afterStar != std::string_view::npos) {
            p = afterStar;
            t = ++retry;
        } else {
            return false;
        }
    }
    while (p < pattern.size() && pattern[p] == '*')
        ++p;
    return p == pattern.size();
}

/// reachable[i]: the first i components of the pattern can match the components consumed so far. `**` may
/// match nothing.
void skipDoubleStars(const std::vector<std::string>& pattern, std::vector<bool>& reachable)
{
    for (std::size_t i = 0; i < pattern.size(); ++i)
        if (reachable[i] && pattern[i] == "**")
            reachable[i + 1] = true;
}

template <class OnPrefix>
bool anyPrefix(const std::vector<std::string>& pattern, std::string_view path, OnPrefix&& accept)
{
    const std::vector<std::string_view> components = split(path);
    std::vector<bool> reachable(pattern.size() + 1);
    reachable[0] = true;
    skipDoubleStars(pattern, reachable);
    for (std::size_t c = 0; c < components.size(); ++c) {
        std::vector<bool> next(pattern.size() + 1);
        for (std::size_t i = 0; i < pattern.size(); ++i) {
            if (!reachable[i])
                continue;
            if (pattern[i] == "**")
                next[i] = true;
            else if (componentMatches(pattern[i], components[c]))
                next[i + 1] = true;
        }
        reachable = std::move(next);
        skipDoubleStars(pattern, reachable);
        if (reachable.back() && accept(c + 1 == components.size()))
            return true;
    }
    return false;
}

} // namespace

PathGlob::PathGlob(std::string_view pattern)
{
    for (const std::string_view component : split(pattern)) {
        if (component.empty())
            throw Error{.what = "the pattern '" + std::string(pattern) + "' has an empty component",
                        .where = "--range",
                        .remedy = "write it like step/forward/** or **/attention/*"};
        if (component != "**" && component.find("**") != std::string_view::npos)
            throw Error{.what = "'**' in the pattern '" + std::string(pattern) + "' is not a whole component",
                        .where = "--range",
                        .remedy = "write **/ or /** around it; a single * matches within a component"};
        components_.emplace_back(component);
    }
}

bool PathGlob::matches(std::string_view path) const
{
    return anyPrefix(components_, path, [](bool whole) { return whole; });
}

bool PathGlob::contains(std::string_view path) const
{
    return anyPrefix(components_, path, [](bool) { return true; });
}

std::string_view fromStepDown(std::string_view path)
{
    if (path == "step" || path.starts_with("step/"))
        return path;
    if (const std::size_t at = path.find("/step/"); at != std::string_view::npos)
        return path.substr(at + 1);
    return path.ends_with("/step") ? path.substr(path.size() - 4) : path;
}

std::string_view belowStep(std::string_view path)
{
    constexpr std::string_view kStep = "step/";
    return path.starts_with(kStep) ? path.substr(kStep.size()) : path;
}

std::string_view phaseOf(std::string_view path)
{
    path = fromStepDown(path);
    if (!path.starts_with("step/"))
        return {};
    path.remove_prefix(5);
    return path.substr(0, path.find('/'));
}

std::string_view moduleOf(std::string_view path)
{
    if (const auto tensor = setUpTensor(path))
        return tensor->name.substr(0, tensor->name.find(' '));
    path = fromStepDown(path);
    if (!path.starts_with("step/"))
        return {};
    path.remove_prefix(5);
    const std::size_t slash = path.find('/');
    return slash == std::string_view::npos ? std::string_view{} : path.substr(slash + 1);
}

bool isModuleWrapper(std::string_view component)
{
    constexpr std::array<std::string_view, 12> kWrappers{"_orig_mod",
                                                         "module",
                                                         "_fsdp_wrapped_module",
                                                         "_checkpoint_wrapped_module",
                                                         "OptimizedModule",
                                                         "DataParallel",
                                                         "DistributedDataParallel",
                                                         "FullyShardedDataParallel",
                                                         "DeepSpeedEngine",
                                                         "CheckpointWrapper",
                                                         "## Call CompiledFxGraph",
                                                         "Torch-Compiled Region"};
    return std::ranges::any_of(kWrappers, [component](std::string_view wrapper) {
        if (!component.starts_with(wrapper))
            return false;
        const std::string_view rest = component.substr(wrapper.size());
        const bool isClass = std::isupper(static_cast<unsigned char>(wrapper.front())) != 0;
        return rest.empty() || rest.front() == ' ' || rest.front() == ':' ||
               (isClass && (rest == ".forward" ||
                            (rest.front() == '_' && std::ranges::all_of(rest.substr(1), [](unsigned char c) {
                                 return std::isdigit(c) != 0;
                             }))));
    });
}

} // namespace tilescope::analysis

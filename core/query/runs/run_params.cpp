#include "core/query/runs/run_params.h"

#include "core/query/runs/json_members.h"

#include <nlohmann/json.hpp>

namespace tilescope::query {

const std::string* SharedTexts::add(std::string_view text)
{
    const auto known = texts_.find(text);
    return known != texts_.end() ? &*known : &*texts_.emplace(text).first;
}

RunParams::RunParams(std::initializer_list<Entry> params)
{
    for (const auto& [key, value] : params)
        set(key, value);
}

RunParams::RunParams(const std::string& specJson, std::shared_ptr<SharedTexts> texts)
    : texts_(std::move(texts))
{
    // A file may have very many runs: only a spec with escapes is parsed.
    if (specJson.find('\\') == std::string::npos && nlohmann::json::accept(specJson)) {
        const auto isQuoted = [](std::string_view text) { return text.starts_with('"'); };
        JsonMembers members(specJson);
        while (const auto member = members.next()) {
            const auto [key, value] = *member;
            params_.emplace_back(texts_->add(key.substr(1, key.size() - 2)),
                                 texts_->add(isQuoted(value) ? value.substr(1, value.size() - 2) : value));
        }
    } else if (const auto spec = nlohmann::ordered_json::parse(specJson, nullptr, /*allow_exceptions=*/false);
               spec.is_object()) {
        for (const auto& [key, value] : spec.items())
            params_.emplace_back(texts_->add(key),
                                 texts_->add(value.is_string() ? value.get<std::string>() : value.dump()));
    }
    params_.shrink_to_fit();
}

std::string_view RunParams::operator[](std::string_view key) const
{
    for (const auto& [name, value] : params_)
        if (*name == key)
            return *value;
    return {};
}

void RunParams::set(std::string_view key, std::string_view value)
{
    if (!texts_)
        texts_ = std::make_shared<SharedTexts>();
    for (auto& [name, known] : params_)
        if (*name == key) {
            known = texts_->add(value);
            return;
        }
    params_.emplace_back(texts_->add(key), texts_->add(value));
}

} // namespace tilescope::query

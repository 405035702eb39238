#pragma once

#include <functional>
#include <initializer_list>
#include <iterator>
#include <memory>
#include <string>
#include <string_view>
#include <unordered_set>
#include <utility>
#include <vector>

namespace tilescope::query {

/// Texts that many runs share, each kept once. Texts never move or change. One thread at a time adds; those that
/// were added may be read by any thread.
class SharedTexts {
public:
    const std::string* add(std::string_view text);

private:
    struct Hash {
        using is_transparent = void;
        std::size_t operator()(std::string_view text) const { return std::hash<std::string_view>{}(text); }
    };
    std::unordered_set<std::string, Hash, std::equal_to<>> texts_;
};

/// The resolved keys of a run's spec, as text, in the order of the spec. Sixteen bytes a key: the runs of a file
/// share the texts.
class RunParams {
public:
    using Entry = std::pair<std::string_view, std::string_view>;

    RunParams() = default;
    /// Parameters with texts of their own.
    RunParams(std::initializer_list<Entry> params);
    /// \param specJson  an object; anything else has no keys
    RunParams(const std::string& specJson, std::shared_ptr<SharedTexts> texts);

    class Iterator {
    public:
        using iterator_category = std::input_iterator_tag;
        using value_type = Entry;
        using difference_type = std::ptrdiff_t;
        using pointer = void;
        using reference = Entry;

        Entry operator*() const { return {*at_->first, *at_->second}; }
        Iterator& operator++()
        {
            ++at_;
            return *this;
        }
        bool operator==(const Iterator&) const = default;

    private:
        friend class RunParams;
        explicit Iterator(const std::pair<const std::string*, const std::string*>* at) : at_(at) {}
        const std::pair<const std::string*, const std::string*>* at_ = nullptr;
    };

    Iterator begin() const { return Iterator(params_.data()); }
    Iterator end() const { return Iterator(params_.data() + params_.size()); }

    /// The value of a key; empty if there is no such key.
    std::string_view operator[](std::string_view key) const;
    void set(std::string_view key, std::string_view value);

private:
    std::shared_ptr<SharedTexts> texts_;
    std::vector<std::pair<const std::string*, const std::string*>> params_;
};

} // namespace tilescope::query

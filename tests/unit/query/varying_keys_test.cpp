#include "core/query/runs/varying_keys.h"

#include "core/query/runs/json_members.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include <random>

namespace tilescope::query {

using ::testing::ElementsAre;
using ::testing::ElementsAreArray;
using ::testing::IsEmpty;

namespace {

std::vector<std::string> keysOf(const std::vector<std::string>& specs)
{
    VaryingKeys keys;
    for (const std::string& spec : specs)
        keys.add(spec);
    return keys.keys();
}

/// Every spec against every other, as the words of the header say.
std::vector<std::string> bruteForce(const std::vector<nlohmann::ordered_json>& specs)
{
    std::vector<std::string> keys;
    for (const auto& one : specs)
        for (const auto& item : one.items()) {
            const bool varies = std::any_of(specs.begin(), specs.end(), [&](const auto& other) {
                return other.contains(item.key()) && other[item.key()] != item.value();
            });
            if (varies && item.key() != "name" && std::ranges::find(keys, item.key()) == keys.end())
                keys.push_back(item.key());
        }
    return keys;
}

} // namespace

TEST(VaryingKeys, AreThoseWhoseValuesDiffer)
{
    EXPECT_THAT(keysOf({R"({"name": "a", "batch": 1, "mode": "both", "seq_len": 256})",
                        R"({"name": "b", "batch": 1, "mode": "both", "seq_len": 512})",
                        R"({"name": "c", "batch": 2, "mode": "both", "seq_len": 256})"}),
                ElementsAre("batch", "seq_len"));
    EXPECT_THAT(keysOf({R"({"a": 1})"}), IsEmpty());
    EXPECT_THAT(keysOf({}), IsEmpty());
}

TEST(VaryingKeys, CompareValuesAndNotTheirSpelling)
{
    EXPECT_THAT(keysOf({R"({"a": 1, "b": [1, 2], "c": "\u0041", "d": {"x": "}"}})",
                        R"({"a":1.0,"b":[1,2],"c":"A","d":{"x":"}"}})"}),
                IsEmpty());
    EXPECT_THAT(keysOf({R"({"a": {"x": "},{"}, "b": 1})", R"({"a": {"x": "},}"}, "b": 1})"}),
                ElementsAre("a"));
    EXPECT_THAT(keysOf({R"({"a\"b": 1})", R"({"a\"b": 2})"}), ElementsAre("a\"b"));
}

TEST(JsonMembers, WithoutSomeAreTheRestAsItIsWritten)
{
    EXPECT_EQ(membersWithout(R"({"name": "a, }", "batch": 1, "seed": 7, "sizes": [1, {"x": 2}]})",
                             {"name", "seed"}),
              R"("batch":1,"sizes":[1, {"x": 2}],)");
    EXPECT_EQ(membersWithout("{}", {"name"}), "");
    EXPECT_EQ(membersWithout("no object", {}), "");
    EXPECT_EQ(membersWithout(R"({"name)", {}), "");
}

TEST(VaryingKeys, OfWhatIsNoSpecAreNone)
{
    for (const char* text :
         {"", "{", "[1]", "null", "{\"a", "{\"a\":", "{\"a\": \"", "{\"a\" 1}", "{a: 1}", "\\"})
        EXPECT_THAT(keysOf({text, "{}", text}), IsEmpty()) << text;
}

TEST(VaryingKeys, AreThoseThatComparingAllWithAllFinds)
{
    const unsigned seed = 20260101;
    SCOPED_TRACE(seed);
    std::mt19937 random(seed);
    for (int round = 0; round < 300; ++round) {
        std::vector<nlohmann::ordered_json> specs;
        std::vector<std::string> texts;
        const std::size_t count = random() % 8;
        for (std::size_t i = 0; i < count; ++i) {
            nlohmann::ordered_json spec = nlohmann::ordered_json::object();
            for (const char* key : {"name", "a", "b", "c", "d"})
                if (random() % 4 != 0)
                    spec[key] = static_cast<int>(random() % (key[0] == 'a' ? 1 : 3));
            texts.push_back(spec.dump());
            specs.push_back(std::move(spec));
        }
        auto found = keysOf(texts);
        auto expected = bruteForce(specs);
        std::ranges::sort(found);
        std::ranges::sort(expected);
        EXPECT_THAT(found, ElementsAreArray(expected));
    }
}

TEST(VaryingKeys, CompareEachValueOnceHoweverManySpecsThereAre)
{
    VaryingKeys keys;
    std::size_t compared = 0;
    constexpr std::size_t kSpecs = 10'000;
    for (std::size_t i = 0; i < kSpecs; ++i)
        compared += keys.add(R"({"mode": "both", "batch": 4, "seed": )" + std::to_string(i) + "}");
    EXPECT_THAT(keys.keys(), ElementsAre("seed"));
    EXPECT_LE(compared, 3 * kSpecs);
}

} // namespace tilescope::query

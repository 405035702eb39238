#include "tests/support/json_schema.h"
#include "tests/support/temporary_folder.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fstream>

namespace tilescope::testing {

namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

/// What `schema` finds wrong in `json`.
std::vector<std::string> offences(const std::string& schema, const std::string& json)
{
    const TemporaryFolder folder;
    std::ofstream(folder / "s.json") << schema;
    std::ofstream(folder / "other.json") << R"({"$defs": {"word": {"type": "string"}}})";
    return schemaOffences(json, folder / "s.json");
}

constexpr const char* kRecordSchema = R"({"type": "array", "items": {"type": "object", "required": ["a"],
    "properties": {"a": {"type": ["integer", "null"], "minimum": 1}, "b": {"$ref": "other.json#/$defs/word"},
                   "c": {"enum": ["x", "y"]}, "d": {"anyOf": [{"type": "null"}, {"$ref": "#/$defs/pair"}]}},
    "additionalProperties": false},
    "$defs": {"pair": {"type": "array", "minItems": 2, "maxItems": 2, "items": {"type": "number"}}}})";

} // namespace

// The schemas of the contract are only as good as what checks them.

TEST(SchemaOffences, AcceptsWhatIsValid)
{
    EXPECT_THAT(
        offences(kRecordSchema, R"([{"a": 1, "b": "w", "c": "y", "d": [1, 2.5]}, {"a": null, "d": null}])"),
        IsEmpty());
    EXPECT_THAT(offences(kRecordSchema, "[]"), IsEmpty());
}

TEST(SchemaOffences, NamesEachOffence)
{
    EXPECT_THAT(offences(kRecordSchema, R"([{}])"), ElementsAre("/0: lacks a"));
    EXPECT_THAT(offences(kRecordSchema, R"([{"a": 0}])"), ElementsAre("/0/a: is below the minimum: 0"));
    EXPECT_THAT(offences(kRecordSchema, R"([{"a": 1.5}])"),
                ElementsAre(R"(/0/a: expected ["integer","null"], found 1.5)"));
    EXPECT_THAT(offences(kRecordSchema, R"([{"a": 1, "b": 7}])"),
                ElementsAre(R"(/0/b: expected ["string"], found 7)"));
    EXPECT_THAT(offences(kRecordSchema, R"([{"a": 1, "c": "z"}])"),
                ElementsAre(R"(/0/c: is none of ["x","y"]: "z")"));
    EXPECT_THAT(offences(kRecordSchema, R"([{"a": 1, "d": [1]}])"),
                ElementsAre("/0/d: fits none of the choices: [1]"));
    EXPECT_THAT(offences(kRecordSchema, R"([{"a": 1, "e": 1}])"), ElementsAre("/0/e: is not in the schema"));
    EXPECT_THAT(offences(kRecordSchema, R"({})"), ElementsAre(R"(/: expected ["array"], found {})"));
}

TEST(SchemaOffences, LetsNoKeywordGoUnchecked)
{
    EXPECT_THROW(offences(R"({"oneOf": []})", "1"), std::runtime_error);
    EXPECT_THROW(offences(kRecordSchema, "[1"), std::runtime_error);
}

} // namespace tilescope::testing

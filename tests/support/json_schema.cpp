#include "tests/support/json_schema.h"

#include <nlohmann/json.hpp>

#include <algorithm>
#include <cstdlib>
#include <fstream>
#include <map>
#include <regex>
#include <set>
#include <stdexcept>

namespace tilescope::testing {

namespace {

using Json = nlohmann::json;

class Validator {
public:
    explicit Validator(std::filesystem::path file) : folder_(file.parent_path()) { root_ = load(file); }

    void check(const Json& value) { check(value, *root_, *root_, ""); }
    std::vector<std::string> offences;

private:
    const Json* load(const std::filesystem::path& file)
    {
        if (const auto known = files_.find(file); known != files_.end())
            return &known->second;
        std::ifstream stream(file);
        if (!stream)
            throw std::runtime_error("no schema " + file.string());
        return &(files_[file] = Json::parse(stream));
    }

    void add(const std::string& where, const std::string& what)
    {
        offences.push_back((where.empty() ? "/" : where) + ": " + what);
    }

    static bool hasType(const Json& value, const std::string& type)
    {
        return (type == "object" && value.is_object()) || (type == "array" && value.is_array()) ||
               (type == "string" && value.is_string()) || (type == "boolean" && value.is_boolean()) ||
               (type == "null" && value.is_null()) || (type == "integer" && value.is_number_integer()) ||
               (type == "number" && value.is_number());
    }

    bool isValid(const Json& value, const Json& schema, const Json& document)
    {
        const std::size_t before = offences.size();
        check(value, schema, document, "");
        const bool valid = offences.size() == before;
        offences.resize(before);
        return valid;
    }

    void follow(const Json& value, const std::string& reference, const Json& document,
                const std::string& where)
    {
        const std::size_t hash = reference.find('#');
        const Json* target = hash == 0 ? &document : load(folder_ / reference.substr(0, hash));
        const Json& part = hash == std::string::npos || hash + 1 == reference.size()
                               ? *target
                               : target->at(Json::json_pointer(reference.substr(hash + 1)));
        check(value, part, *target, where);
    }

    void checkObject(const Json& value, const Json& schema, const Json& document, const std::string& where)
    {
        for (const Json& key : schema.value("required", Json::array()))
            if (!value.contains(key.get<std::string>()))
                add(where, "lacks " + key.get<std::string>());
        const Json properties = schema.value("properties", Json::object());
        const Json patterns = schema.value("patternProperties", Json::object());
        for (const auto& [key, member] : value.items()) {
            const std::string inside = where + "/" + key;
            bool known = properties.contains(key);
            if (known)
                check(member, properties[key], document, inside);
            for (const auto& [pattern, part] : patterns.items())
                if (std::regex_search(key, std::regex(pattern))) {
                    known = true;
                    check(member, part, document, inside);
                }
            if (known || !schema.contains("additionalProperties"))
                continue;
            const Json& rest = schema["additionalProperties"];
            if (rest.is_boolean() && !rest.get<bool>())
                add(inside, "is not in the schema");
            else if (rest.is_object())
                check(member, rest, document, inside);
        }
    }

    void checkArray(const Json& value, const Json& schema, const Json& document, const std::string& where)
    {
        const Json prefix = schema.value("prefixItems", Json::array());
        for (std::size_t i = 0; i < value.size(); ++i) {
            const std::string inside = where + "/" + std::to_string(i);
            if (i < prefix.size())
                check(value[i], prefix[i], document, inside);
            else if (schema.contains("items"))
                check(value[i], schema["items"], document, inside);
        }
        if (value.size() < schema.value("minItems", std::size_t{0}))
            add(where, "has too few items");
        if (schema.contains("maxItems") && value.size() > schema["maxItems"].get<std::size_t>())
            add(where, "has too many items");
    }

    void checkScalar(const Json& value, const Json& schema, const std::string& where)
    {
        if (value.is_number()) {
            const double number = value.get<double>();
            if (schema.contains("minimum") && number < schema["minimum"].get<double>())
                add(where, "is below the minimum: " + value.dump());
            if (schema.contains("maximum") && number > schema["maximum"].get<double>())
                add(where, "is above the maximum: " + value.dump());
            if (schema.contains("exclusiveMinimum") && number <= schema["exclusiveMinimum"].get<double>())
                add(where, "is not above the minimum: " + value.dump());
        }
        if (value.is_string()) {
            const auto text = value.get<std::string>();
            if (text.size() < schema.value("minLength", std::size_t{0}))
                add(where, "is too short");
            if (schema.contains("pattern") &&
                !std::regex_search(text, std::regex(schema["pattern"].get<std::string>())))
                add(where, "does not match " + schema["pattern"].get<std::string>() + ": " + text);
        }
    }

    void check(const Json& value, const Json& schema, const Json& document, const std::string& where)
    {
        static const std::set<std::string> known{"$schema",
                                                 "$id",
                                                 "$defs",
                                                 "title",
                                                 "description",
                                                 "type",
                                                 "const",
                                                 "enum",
                                                 "items",
                                                 "required",
                                                 "properties",
                                                 "additionalProperties",
                                                 "patternProperties",
                                                 "prefixItems",
                                                 "minItems",
                                                 "maxItems",
                                                 "minimum",
                                                 "maximum",
                                                 "exclusiveMinimum",
                                                 "minLength",
                                                 "pattern",
                                                 "anyOf",
                                                 "allOf",
                                                 "$ref",
                                                 "default",
                                                 "examples"};
        for (const auto& [keyword, ignored] : schema.items())
            if (!known.contains(keyword))
                throw std::runtime_error("the schema uses '" + keyword +
                                         "', which this validator does not know");

        if (schema.contains("$ref"))
            follow(value, schema["$ref"].get<std::string>(), document, where);
        if (schema.contains("type")) {
            const Json types = schema["type"].is_array() ? schema["type"] : Json::array({schema["type"]});
            bool fits = false;
            for (const Json& type : types)
                fits = fits || hasType(value, type.get<std::string>());
            if (!fits) {
                add(where, "expected " + types.dump() + ", found " + value.dump().substr(0, 60));
                return;
            }
        }
        if (schema.contains("const") && value != schema["const"])
            add(where, "is not " + schema["const"].dump());
        if (schema.contains("enum") &&
            std::find(schema["enum"].begin(), schema["enum"].end(), value) == schema["enum"].end())
            add(where, "is none of " + schema["enum"].dump() + ": " + value.dump());
        if (schema.contains("anyOf")) {
            bool fits = false;
            for (const Json& choice : schema["anyOf"])
                fits = fits || isValid(value, choice, document);
            if (!fits)
                add(where, "fits none of the choices: " + value.dump().substr(0, 60));
        }
        for (const Json& part : schema.value("allOf", Json::array()))
            check(value, part, document, where);
        if (value.is_object())
            checkObject(value, schema, document, where);
        else if (value.is_array())
            checkArray(value, schema, document, where);
        else
            checkScalar(value, schema, where);
    }

    std::filesystem::path folder_;
    std::map<std::filesystem::path, Json> files_;
    const Json* root_ = nullptr;
};

using OrderedJson = nlohmann::ordered_json; // keys stay in the order of the text

std::string typeOf(const OrderedJson& value)
{
    return value.is_string()           ? "string"
           : value.is_boolean()        ? "boolean"
           : value.is_number_integer() ? "integer"
           : value.is_number()         ? "number"
           : value.is_array()          ? "array"
           : value.is_object()         ? "object"
                                       : "null";
}

/// A key that the schema lacks: with the types that its values have, without a description.
OrderedJson newKey(const OrderedJson& rows, const std::string& key)
{
    OrderedJson types = OrderedJson::array();
    for (const OrderedJson& row : rows)
        if (const std::string type = typeOf(row.at(key));
            std::find(types.begin(), types.end(), type) == types.end())
            types.push_back(type);
    return {{"description", ""}, {"type", types.size() == 1 ? types.front() : types}};
}

} // namespace

void updateRowsOfSchema(std::string_view json, const std::filesystem::path& schemaFile)
{
    const auto rows = OrderedJson::parse(json);
    if (!rows.is_array() || rows.empty() || !rows.front().is_object())
        return;
    OrderedJson schema;
    if (std::ifstream stream(schemaFile); stream)
        schema = OrderedJson::parse(stream);
    else
        schema = {{"$schema", "https://json-schema.org/draft/2020-12/schema"},
                  {"$id", schemaFile.filename().string()},
                  {"title", ""},
                  {"type", "array"},
                  {"items", {{"type", "object"}, {"properties", OrderedJson::object()}}}};
    if (!schema.contains("items") || !schema["items"].contains("properties"))
        return;
    OrderedJson& row = schema["items"];
    OrderedJson properties = OrderedJson::object();
    OrderedJson required = OrderedJson::array();
    for (const auto& [key, ignored] : rows.front().items()) {
        properties[key] = row["properties"].contains(key) ? row["properties"][key] : newKey(rows, key);
        required.push_back(key);
    }
    row["properties"] = properties;
    row["required"] = required;
    row["additionalProperties"] = false;
    std::ofstream(schemaFile) << schema.dump(2) << '\n';
}

std::vector<std::string> schemaOffences(std::string_view json, const std::filesystem::path& schemaFile)
{
    if (std::getenv("TILESCOPE_UPDATE")) // NOLINT(concurrency-mt-unsafe): no thread changes the environment
        updateRowsOfSchema(json, schemaFile);
    Validator validator(schemaFile);
    try {
        validator.check(Json::parse(json));
    } catch (const Json::parse_error& error) {
        throw std::runtime_error(std::string("no JSON: ") + error.what());
    }
    return validator.offences;
}

} // namespace tilescope::testing

#pragma once

#include "core/base/error.h"
#include "core/config/spec_file.h"

#include <gtest/gtest.h>

#include <string>
#include <string_view>

namespace tilescope::config {

/// The sentence with which a spec is refused; "accepted" where it is not.
inline std::string sentenceOf(std::string_view yaml, const Overrides& overrides = {})
{
    try {
        parseSpec(yaml, "s.yaml", overrides);
        return "accepted";
    } catch (const Error& error) {
        EXPECT_EQ(error.exitCode(), 2) << error.sentence();
        return error.sentence();
    }
}

/// Whether a sentence is the expected one; an expectation that ends in `…` is of its beginning.
inline bool matches(std::string_view sentence, std::string_view expected)
{
    constexpr std::string_view more = "…";
    if (expected.ends_with(more))
        return sentence.starts_with(expected.substr(0, expected.size() - more.size()));
    return sentence == expected;
}

} // namespace tilescope::config

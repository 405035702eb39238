// Shared pages have the colours of the window.

#include "ui/theme/palette.h"

#include <gtest/gtest.h>

#include <fstream>
#include <iterator>
#include <regex>
#include <string>

namespace tilescope::ui {
namespace {

using query::Hue;

std::string shareStyle()
{
    std::ifstream in(std::string(TILESCOPE_SOURCE_DIR) + "/resources/share/share.css");
    return {std::istreambuf_iterator<char>(in), {}};
}

/// The value of a custom property within a rule that begins with `selector`.
std::string property(const std::string& style, const std::string& selector, const std::string& name)
{
    const std::size_t begin = style.find(selector + " {");
    const std::string rule = style.substr(begin, style.find('}', begin) - begin);
    std::smatch found;
    return std::regex_search(rule, found, std::regex("--" + name + ": ([^;]+);")) ? found[1].str() : "";
}

void expectColours(const std::string& style, const std::string& selector, const Palette& palette)
{
    const auto expect = [&](const std::string& name, const QColor& colour) {
        EXPECT_EQ(property(style, selector, name), colour.name().toStdString()) << selector << " " << name;
    };
    for (std::size_t i = 0; i < analysis::kKernelFamilies; ++i)
        expect(std::string(query::hueWord(Hue(i))), palette.hue(Hue(i)));
    expect("range", palette.hue(Hue::Range));
    expect("busy", palette.hue(Hue::Busy));
    expect("gap-launching", palette.hue(Hue::GapLaunching));
    expect("gap-synchronizing", palette.hue(Hue::GapSynchronizing));
    expect("gap-tracing", palette.hue(Hue::GapTracing));
    expect("gap-unexplained", palette.hue(Hue::GapUnexplained));
    expect("background", palette.background);
    expect("surface", palette.surface);
    expect("lane-ground", palette.laneGround);
    expect("text", palette.text);
    expect("dim-text", palette.dimText);
    expect("accent", palette.accent);
    expect("warning", palette.warning);
    expect("activations", palette.activations);
}

TEST(SharedPages, HaveTheColoursOfTheWindow)
{
    const std::string style = shareStyle();
    expectColours(style, ":root", Palette::light());
    expectColours(style, ":root:not([data-theme=\"light\"])", Palette::darkOne());
    expectColours(style, ":root[data-theme=\"dark\"]", Palette::darkOne());
}

} // namespace
} // namespace tilescope::ui

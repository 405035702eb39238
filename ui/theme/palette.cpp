#include "ui/theme/palette.h"

#include <algorithm>
#include <cmath>

namespace tilescope::ui {

using query::Hue;

namespace {

constexpr QColor rgb(unsigned value)
{
    return QColor(int(value >> 16 & 0xFF), int(value >> 8 & 0xFF), int(value & 0xFF));
}

void setHues(Palette& palette, const std::array<unsigned, analysis::kKernelFamilies>& families)
{
    for (std::size_t i = 0; i < families.size(); ++i)
        palette.hues[i] = rgb(families[i]);
}

/// By analysis::HostCause.
void setWaits(Palette& palette, const std::array<unsigned, analysis::kHostCauses>& waits)
{
    for (std::size_t i = 0; i < waits.size(); ++i)
        palette.hues[std::size_t(Hue::FirstWait) + i] = rgb(waits[i]);
}

Palette makeLight()
{
    Palette p;
    p.background = rgb(0xF3F4F6);
    p.surface = rgb(0xFFFFFF);
    p.raised = rgb(0xF8F9FA);
    p.laneGround = rgb(0xFAFBFC);
    p.line = rgb(0xE2E5E9);
    p.grid = rgb(0xECEEF1);
    p.strongLine = rgb(0xC5CBD2);
    p.text = rgb(0x1B2026);
    p.dimText = rgb(0x59626D);
    p.selectedRow = rgb(0xDCE7F8);
    p.accent = rgb(0x2458B8);
    p.hover = rgb(0xEDF0F3);
    p.warning = rgb(0xA84300);
    p.error = rgb(0xB3261E);
    p.running = rgb(0x2458B8);
    p.faster = rgb(0x0B6B50);
    setHues(p, {0x4477AA, 0x0077BB, 0xEE6677, 0xCCBB44, 0x66CCEE, 0x228833, 0xAA3377, 0x44AA99, 0x997700,
                0x999933, 0x882255, 0xDDAA33, 0x332288, 0x888888});
    p.ranges = {rgb(0xD5DAE0), rgb(0xE0E4E9), rgb(0xEAEDF0)};
    p.hues[std::size_t(Hue::Busy)] = rgb(0x5B6570);
    p.hues[std::size_t(Hue::GapLaunching)] = rgb(0xF0DDB5);
    p.hues[std::size_t(Hue::GapSynchronizing)] = rgb(0xD6CCEC);
    p.hues[std::size_t(Hue::GapTracing)] = rgb(0xD9DDE2);
    setWaits(p, {0xDACD74, 0x9DBDE0, 0x789DC8, 0xB4B468, 0x74C1B2, 0xB08D5B, 0xDD9F58, 0xC9A0A0, 0x8BB77A,
                 0xE08585, 0xF3A78F, 0xC46D9F, 0xBCAFDF, 0x9FB8A8, 0xA7B5C3, 0x86929F, 0xE5D6B4, 0xD3D8DE,
                 0xC5CBD2});
    p.parameters = rgb(0x77AADD);
    p.gradients = rgb(0xEE8866);
    p.optimizerState = rgb(0xBBCC33);
    p.activations = rgb(0x44BB99);
    p.inputs = rgb(0x99DDFF);
    p.temporaries = rgb(0xFFAABB);
    p.workspace = rgb(0xEEDD88);
    p.unattributed = rgb(0xBBBBBB);
    p.fragmentation = rgb(0x8A929B);
    p.reservedFree = rgb(0xD9DDE2);
    p.context = rgb(0xA6AEB7);
    return p;
}

Palette makeDark()
{
    Palette p;
    p.dark = true;
    p.background = rgb(0x131619);
    p.surface = rgb(0x191D21);
    p.raised = rgb(0x20252A);
    p.laneGround = rgb(0x1D2126);
    p.line = rgb(0x2C3238);
    p.grid = rgb(0x23282E);
    p.strongLine = rgb(0x4A535D);
    p.text = rgb(0xE6E9EC);
    p.dimText = rgb(0xA1AAB4);
    p.selectedRow = rgb(0x293B58);
    p.accent = rgb(0x8DB6FF);
    p.hover = rgb(0x242A30);
    p.warning = rgb(0xFFA45C);
    p.error = rgb(0xFF8A80);
    p.running = rgb(0x8DB6FF);
    p.faster = rgb(0x5CCFA6);
    setHues(p, {0x6F9FD8, 0x5FA8DE, 0xFF8A97, 0xE3D568, 0x8FDDF7, 0x57B868, 0xE08ABB, 0x6CCBBB, 0xC9A24B,
                0xBEBE5E, 0xA65585, 0xF0C566, 0x8F84DE, 0xA7ADB4});
    p.ranges = {rgb(0x3B434C), rgb(0x333A42), rgb(0x2C3239)};
    p.hues[std::size_t(Hue::Busy)] = rgb(0xA9B3BE);
    p.hues[std::size_t(Hue::GapLaunching)] = rgb(0x54472B);
    p.hues[std::size_t(Hue::GapSynchronizing)] = rgb(0x443B60);
    p.hues[std::size_t(Hue::GapTracing)] = rgb(0x3A424A);
    setWaits(p, {0xC5B54C, 0x7FA9D6, 0x5C8BC0, 0x97974A, 0x4DA392, 0x9C7F4C, 0xBF8640, 0x9A7070, 0x6B9A59,
                 0xC56B6B, 0xD68068, 0xAE5589, 0x8D7DC2, 0x6C8577, 0x6E7C8A, 0x56616D, 0x857246, 0x4A525B,
                 0x4A535D});
    p.parameters = rgb(0x6A9CD0);
    p.gradients = rgb(0xE07F5E);
    p.optimizerState = rgb(0xAEBD3A);
    p.activations = rgb(0x3FAE8E);
    p.inputs = rgb(0x86C9EC);
    p.temporaries = rgb(0xEE98AA);
    p.workspace = rgb(0xDCCB75);
    p.unattributed = rgb(0x9CA1A7);
    p.fragmentation = rgb(0x6E7780);
    p.reservedFree = rgb(0x343B43);
    p.context = rgb(0x59626C);
    return p;
}

// Colours derived from other colours.
Palette completed(Palette p)
{
    p.hues[std::size_t(Hue::Range)] = p.ranges[0];
    p.hues[std::size_t(Hue::RangeAttention)] = blend(p.hue(Hue::Attention), p.surface, 0.45);
    p.hues[std::size_t(Hue::RangeAttentionInner)] = blend(p.hue(Hue::Attention), p.surface, 0.75);
    p.hues[std::size_t(Hue::Api)] = blend(p.dimText, p.surface, 0.55);
    p.hues[std::size_t(Hue::GapUnexplained)] = p.strongLine;
    p.hues[std::size_t(Hue::LibraryFrame)] = p.ranges[0];
    p.hues[std::size_t(Hue::Frame)] = blend(p.accent, p.surface, 0.35);
    p.runA = rgb(0x6B7580);
    p.runB = p.accent;
    return p;
}

// Relative luminance of WCAG 2.
double luminance(const QColor& colour)
{
    const auto linear = [](double c) {
        return c <= 0.03928 ? c / 12.92 : std::pow((c + 0.055) / 1.055, 2.4);
    };
    return 0.2126 * linear(colour.redF()) + 0.7152 * linear(colour.greenF()) +
           0.0722 * linear(colour.blueF());
}

} // namespace

const Palette& Palette::light()
{
    static const Palette palette = completed(makeLight());
    return palette;
}

const Palette& Palette::darkOne()
{
    static const Palette palette = completed(makeDark());
    return palette;
}

QColor textOn(const QColor& fill)
{
    const QColor white = rgb(0xFFFFFF);
    const QColor black = rgb(0x101317);
    const double l = luminance(fill);
    const double onWhite = (luminance(white) + 0.05) / (l + 0.05);
    const double onBlack = (l + 0.05) / (luminance(black) + 0.05);
    return onWhite >= onBlack ? white : black;
}

QColor blend(const QColor& top, const QColor& ground, double share)
{
    const auto mix = [share](int a, int b) { return int(std::lround(a * share + b * (1 - share))); };
    return QColor(mix(top.red(), ground.red()), mix(top.green(), ground.green()),
                  mix(top.blue(), ground.blue()));
}

} // namespace tilescope::ui

#pragma once

#include "core/query/timeline/hue.h"

#include <QColor>

#include <array>

namespace tilescope::ui {

/// All colours of the window.
///
/// There are two, light and dark; painters take all colours from one of them.
struct Palette {
    bool dark = false;

    QColor background; ///< of the window, around panels
    QColor surface;    ///< of panels, tables and plots
    QColor raised;     ///< headers
    QColor laneGround; ///< behind the boxes of a timeline
    QColor line, grid;
    QColor strongLine; ///< borders of fields
    QColor text, dimText;
    QColor selectedRow;
    QColor accent; ///< focus, span of time, links
    QColor hover;

    QColor warning; ///< out of memory, slower
    QColor error;
    QColor running;
    QColor faster;

    std::array<QColor, query::kHueCount> hues;
    std::array<QColor, 3> ranges; ///< by depth

    // Memory categories.
    QColor parameters, gradients, optimizerState, activations, inputs, temporaries, workspace, unattributed;
    QColor fragmentation, reservedFree, context;

    QColor runA, runB; ///< where two runs are compared

    const QColor& hue(query::Hue hue) const { return hues[std::size_t(hue)]; }

    static const Palette& light();
    static const Palette& darkOne();
};

/// The text colour for a fill: near-white or near-black, whichever contrasts more.
QColor textOn(const QColor& fill);

/// `share` of `top` over the rest of `ground`, both opaque.
QColor blend(const QColor& top, const QColor& ground, double share);

} // namespace tilescope::ui

#include "ui/theme/style_sheet.h"

#include "ui/theme/theme.h"

#include <QFont>
#include <QFontInfo>

namespace tilescope::ui {

namespace {

// Names in braces are replaced by colours and sizes. Selectors name classes and `kind` properties, never
// object names.
constexpr const char* kSheet = R"(
QMainWindow, QDialog { background: {background}; }
QMainWindow::separator { background: {line}; width: 1px; height: 1px; }
QMenuBar { background: {background}; padding: 2px 8px; border-bottom: 1px solid {line}; }
QMenuBar::item { padding: 4px 8px; border-radius: {radius}; background: transparent; }
QMenuBar::item:selected { background: {hover}; }
QMenu { background: {surface}; border: 1px solid {strongLine}; padding: 4px; }
QMenu::item { padding: 4px 24px 4px 20px; border-radius: 3px; }
QMenu::item:selected { background: {selectedRow}; }
QMenu::item:disabled { color: {faint}; }
QMenu::separator { height: 1px; background: {line}; margin: 4px 6px; }
QMenu::icon { left: 6px; }
QStatusBar { background: {background}; border-top: 1px solid {line}; min-height: {statusBar}; }
QStatusBar::item { border: none; }
QToolTip { background: {surface}; color: {text}; border: 1px solid {strongLine}; padding: 4px 6px; }

QPushButton { background: {surface}; border: 1px solid {strongLine}; border-radius: {radius}; padding: 0 {buttonPad};
    min-height: {fieldInner}; }
QPushButton:hover { background: {hover}; }
QPushButton:pressed, QPushButton:checked { background: {selectedRow}; }
QPushButton:focus { border-color: {accent}; }
QPushButton:disabled { color: {faint}; border-color: {line}; }
QPushButton[kind="primary"] { background: {text}; color: {surface}; border-color: {text}; font-weight: 600; }
QPushButton[kind="primary"]:disabled { background: {line}; color: {faint}; border-color: {line}; }
QPushButton[kind="link"] { border: none; background: transparent; color: {accent}; padding: 0; text-align: left; }
QPushButton[kind="link"]:hover, QPushButton[kind="link"]:focus { text-decoration: underline; }
QPushButton[kind="link"]:disabled { color: {faint}; text-decoration: none; }
QPushButton[kind="icon"] { padding: 0; min-width: {fieldInner}; }
QPushButton[kind="chip"] { background: {raised}; border-color: {line}; padding: 0 6px; min-height: {chip}; }
QPushButton[kind="chip"]:hover { border-color: {strongLine}; }
QPushButton[kind="more"] { border: none; background: transparent; color: {dimText}; padding: 0 4px; min-height: {chip}; }
QPushButton[kind="more"]:hover { color: {text}; }
QPushButton[kind="heading"] { border: none; background: transparent; padding: 0; text-align: left; font-weight: 600;
    color: {dimText}; }
QPushButton[kind="heading"]:hover, QPushButton[kind="heading"]:focus { color: {text}; }
QPushButton[kind="small"] { min-height: {chip}; }
QPushButton[kind="row"] { min-height: 0; margin: 2px 4px 2px 2px; padding: 0 2px; }
QPushButton::menu-indicator { image: none; width: 0; }
QPushButton[segment="first"] { border-top-right-radius: 0; border-bottom-right-radius: 0; }
QPushButton[segment="middle"] { border-radius: 0; border-left: none; }
QPushButton[segment="last"] { border-top-left-radius: 0; border-bottom-left-radius: 0; border-left: none; }
QPushButton[segment]:checked { font-weight: 600; }

QLineEdit, QComboBox, QAbstractSpinBox { background: {surface}; border: 1px solid {strongLine};
    border-radius: {radius}; padding: 0 6px; min-height: {fieldInner}; selection-background-color: {accent};
    selection-color: {surface}; }
QLineEdit:focus, QComboBox:focus, QAbstractSpinBox:focus, QPlainTextEdit:focus { border: 1px solid {accent}; }
QLineEdit[kind="bare"], QLineEdit[kind="bare"]:focus { border: none; background: transparent; padding: 0 3px;
    min-height: {chip}; }
QFrame[kind="values"] { background: {surface}; border: 1px solid {strongLine}; border-radius: {radius}; }
QFrame[kind="values"][focused="true"] { border-color: {accent}; }
QFrame[kind="values"][invalid="true"] { border-color: {error}; }
QWidget[kind="form"] { background: {surface}; }
QLineEdit[invalid="true"] { border: 1px solid {error}; }
QComboBox::drop-down { border: none; width: 20px; }
QComboBox QAbstractItemView { background: {surface}; border: 1px solid {strongLine}; selection-background-color:
    {selectedRow}; selection-color: {text}; outline: none; }
QPlainTextEdit { font-family: "{mono}"; }
QPlainTextEdit, QTextBrowser { background: {surface}; border: none; selection-background-color: {selectedRow};
    selection-color: {text}; }

QAbstractItemView { background: {surface}; border: none; outline: none; selection-background-color: {selectedRow};
    selection-color: {text}; alternate-background-color: {surface}; }
QAbstractItemView::item { border: none; }
QAbstractItemView::item:hover { background: {hover}; }
QAbstractItemView::item:selected { background: {selectedRow}; color: {text}; }
QHeaderView { background: {raised}; }
QHeaderView::section { background: {raised}; color: {dimText}; border: none; border-bottom: 1px solid {line};
    padding: 0 6px; font-size: {small}pt; }
QHeaderView::section:checked { font-weight: 400; }
QHeaderView::up-arrow, QHeaderView::down-arrow { width: 0; height: 0; }
QTableCornerButton::section { background: {raised}; border: none; }

QScrollBar:vertical { background: transparent; width: {scroll}; margin: 0; }
QScrollBar:horizontal { background: transparent; height: {scroll}; margin: 0; }
QScrollBar::handle { background: {strongLine}; border-radius: 3px; margin: 2px; }
QScrollBar::handle:vertical { min-height: 24px; }
QScrollBar::handle:horizontal { min-width: 24px; }
QScrollBar::handle:hover { background: {dimText}; }
QScrollBar::add-line, QScrollBar::sub-line { width: 0; height: 0; }
QScrollBar::add-page, QScrollBar::sub-page { background: transparent; }

QSplitter::handle { background: {line}; }
QSplitter[kind="gap"]::handle { background: transparent; }
QDockWidget { titlebar-close-icon: none; titlebar-normal-icon: none; }
QProgressBar { background: {line}; border: none; border-radius: 3px; max-height: 6px; min-height: 6px; }
QProgressBar::chunk { background: {running}; border-radius: 3px; }
QSlider::groove:horizontal { height: 2px; background: {strongLine}; }
QSlider::handle:horizontal { width: 10px; height: 10px; margin: -5px 0; border-radius: 6px; background: {surface};
    border: 2px solid {text}; }
QCheckBox, QRadioButton { spacing: 6px; }
QLabel[kind="dim"] { color: {dimText}; }
QLabel[kind="title"] { font-weight: 600; }
QLabel[kind="warning"] { color: {warning}; }
QLabel[kind="better"] { color: {faster}; }
QLabel[kind="error"] { color: {error}; }
QFrame[kind="panel"] { background: {surface}; border: 1px solid {line}; border-radius: {radius}; }
QFrame[kind="bar"] { background: {surface}; border-bottom: 1px solid {line}; }
QFrame[kind="notice"] { background: {notice}; border-bottom: 1px solid {error}; }
QFrame[kind="information"] { background: {information}; border-bottom: 1px solid {line}; }
QFrame[kind="panelHeader"] { border: none; border-bottom: 1px solid {line}; }
QLabel[kind="code"] { background: {raised}; border: 1px solid {line}; border-radius: {radius}; padding: 6px 8px; }
QFrame[kind="rule"] { background: {line}; border: none; }
)";

} // namespace

QString styleSheet(const Palette& p, const Sizes& sizes, const QFont& small)
{
    QString sheet = QString::fromLatin1(kSheet);
    const auto colour = [&sheet](const char* name, const QColor& value) {
        sheet.replace(QLatin1Char('{') + QLatin1String(name) + QLatin1Char('}'), value.name());
    };
    const auto size = [&sheet](const char* name, int pixels) {
        sheet.replace(QLatin1Char('{') + QLatin1String(name) + QLatin1Char('}'),
                      QString::number(pixels) + QLatin1String("px"));
    };
    colour("background", p.background);
    colour("surface", p.surface);
    colour("raised", p.raised);
    colour("line", p.line);
    colour("strongLine", p.strongLine);
    colour("text", p.text);
    colour("dimText", p.dimText);
    colour("faint", blend(p.dimText, p.background, 0.55));
    colour("selectedRow", p.selectedRow);
    colour("accent", p.accent);
    colour("hover", p.hover);
    colour("running", p.running);
    colour("error", p.error);
    colour("notice", blend(p.error, p.surface, 0.08));
    colour("information", blend(p.accent, p.surface, 0.08));
    colour("warning", p.warning);
    colour("faster", p.faster);
    size("radius", sizes.radius);
    size("statusBar", sizes.statusBar);
    size("fieldInner", sizes.field - 2);
    size("chip", sizes.field - sizes.of(6));
    size("buttonPad", sizes.of(10));
    size("scroll", sizes.of(10));
    sheet.replace(QLatin1String("{small}"), QString::number(small.pointSizeF()));
    sheet.replace(QLatin1String("{mono}"), QFontInfo(Theme::instance().mono()).family());
    return sheet;
}

} // namespace tilescope::ui

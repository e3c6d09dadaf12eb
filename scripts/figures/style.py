"""How every picture looks: one colour and one dash for each block, everywhere."""
import math

import matplotlib

from files import whole

matplotlib.use("Agg")
import matplotlib.pyplot as plt  # noqa: E402  (the backend comes first: there may be no screen)

# Okabe and Ito's colours, which are told apart whatever the colour vision; dashes tell them apart in print.
BLOCKS = {
    "pre_ln": ("Pre-LN", "#000000", "-"),
    "parallel": ("parallel", "#E69F00", "--"),
    "v_skipinit": ("V-SkipInit (Eq. 4)", "#D55E00", "-."),
    "sas": ("SAS", "#009E73", (0, (6, 1.5))),
    "sas_p": ("SAS-P", "#0072B2", (0, (12, 1.5))),
    "sas_p_nonorm": ("SAS-P without norm", "#CC79A7", ":"),
}
# What is no block of these (a setting of one): in this order, after the block that it is compared with.
SETTINGS = (("#E69F00", "--"), ("#009E73", "-."), ("#D55E00", ":"), ("#CC79A7", (0, (5, 1))), ("#56B4E9", (0, (3, 1, 1, 1))),
            ("#7F7F7F", (0, (1, 1))), ("#B8A900", "-"))
PAPER_LINE = {"color": "#7F7F7F", "linewidth": 1, "linestyle": (0, (1, 2))}  # a value that the paper reports

plt.rcParams.update({
    "figure.dpi": 100, "savefig.dpi": 150, "figure.constrained_layout.use": True,
    "font.size": 9, "axes.titlesize": 9, "legend.fontsize": 8, "legend.frameon": False,
    "lines.linewidth": 1.6, "axes.grid": True, "grid.alpha": 0.3,
    "axes.spines.top": False, "axes.spines.right": False,
    "pdf.fonttype": 42, "svg.fonttype": "none",
})


def name_of(block):
    return BLOCKS[block][0] if block in BLOCKS else block


def block(name):
    """Keywords of plot() for a block; for a name that is none, its label alone."""
    if name not in BLOCKS:
        return {"label": name}
    label, colour, dash = BLOCKS[name]
    return {"label": label, "color": colour, "linestyle": dash}


def setting(index, label, beside=None):
    """Keywords of plot() for the index-th setting that a picture compares; `beside`: a block drawn too, whose colour is left out."""
    free = [look for look in SETTINGS if beside is None or look[0] != BLOCKS[beside][1]]
    colour, dash = free[index % len(free)]
    return {"label": label, "color": colour, "linestyle": dash}


def axes(rows=1, columns=1, width=5.6, height=3.8, **options):
    """A figure of rows x columns pictures, each of that size in inches."""
    return plt.subplots(rows, columns, figsize=(width * columns, height * rows), **options)


def log_axis(axis, places):
    """A logarithmic x axis with ticks at these places alone."""
    axis.set_xscale("log")
    axis.set_xticks(places, [f"{place:g}" for place in places])
    axis.minorticks_off()


def paper_value(axis, value, text):
    """A horizontal line at a number of the paper."""
    axis.axhline(value, label=text, **PAPER_LINE)


def curve(axis, points, **line):
    """A line through (x, y); where they are few, each is marked."""
    x, y = zip(*points) if points else ((), ())
    axis.plot(x, y, marker="o" if len(points) <= 20 else None, markersize=3, **line)


def losses(axis, x, values, **line):
    """Losses at the end of runs, of which one that diverged is a cross at the upper edge."""
    [drawn] = axis.plot(x, [value if math.isfinite(value) else math.nan for value in values], marker="o", markersize=4, **line)
    diverged = [position for position, value in zip(x, values) if not math.isfinite(value)]
    height = 0.98 - 0.02 * len(axis.lines)  # crosses of several lines lie below each other
    axis.plot(diverged, [height] * len(diverged), "x", color=drawn.get_color(), transform=axis.get_xaxis_transform())


def save(figure, *files):
    """Writes a picture to files ending in .png or .pdf, whole or not at all."""
    for file in files:
        file.parent.mkdir(parents=True, exist_ok=True)
        # Without the date, the same data give the same file.
        metadata = {"CreationDate": None} if file.suffix == ".pdf" else None
        with whole(file) as temporary:
            figure.savefig(temporary, format=file.suffix[1:], metadata=metadata)
    plt.close(figure)

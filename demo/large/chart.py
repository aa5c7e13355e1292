"""The lags of the replay and of the live version over time."""

from pathlib import Path

from demo.large.lag import Sample


def draw(samples: list[Sample], replay_s: float, events: int, path: Path) -> None:
    import matplotlib as mpl

    mpl.use("Agg")
    from matplotlib import pyplot

    figure, (replaying, live) = pyplot.subplots(2, 1, figsize=(9, 5.5), layout="constrained", sharex=True)
    times = [sample.at_s for sample in samples]
    replaying.plot(times, [sample.lag["v2"] / 1e6 for sample in samples], color="#c8553d")
    replaying.set_ylabel("lag of v2,\nmillions of records")
    replaying.set_title(f"{events / 1e6:g} million events replayed beside the live version")
    live.plot(times, [sample.lag["v1"] / 1e3 for sample in samples], color="#2a7f9e")
    live.set_ylabel("lag of v1 (live),\nthousands of records")
    live.set_xlabel("seconds since the replay was started")
    for axes in (replaying, live):
        axes.axvline(replay_s, color="#999999", linewidth=0.8, linestyle="--")
        axes.set_ylim(bottom=0)
        axes.grid(color="#dddddd", linewidth=0.6)
        for side in ("top", "right"):
            axes.spines[side].set_visible(False)
    path.parent.mkdir(parents=True, exist_ok=True)
    figure.savefig(path, dpi=120)

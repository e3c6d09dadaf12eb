"""The energy that a device takes, where the machine lets it be read."""
import os
import pathlib
import shutil
import subprocess
import threading
import time

POWERCAP = pathlib.Path("/sys/class/powercap")


class Rapl:
    """The counters of the processor packages (RAPL)."""

    name = "RAPL, processor packages"

    def __init__(self, packages):
        self.packages = packages
        self.last = [self._read(package, "energy_uj") for package in packages]
        self.total = 0.0

    @staticmethod
    def _read(package, file):
        return int((package / file).read_text(encoding="ascii"))

    def joules(self):
        """Since this meter was made; called more often than a counter begins anew, which takes minutes."""
        for index, package in enumerate(self.packages):
            now = self._read(package, "energy_uj")
            passed = now - self.last[index]
            if passed < 0:
                passed += self._read(package, "max_energy_range_uj")
            self.total += passed / 1e6
            self.last[index] = now
        return self.total

    def close(self):
        pass


class NvidiaSmi:
    """The power of a card by nvidia-smi, added up over its reports."""

    name = "NVML by nvidia-smi"
    SECONDS = 0.1  # between two reports

    def __init__(self, program, card):
        self.total, self.lock = 0.0, threading.Lock()
        self.process = subprocess.Popen([program, f"--id={card}", "--query-gpu=power.draw", "--format=csv,noheader,nounits",
                                         f"--loop-ms={int(1000 * self.SECONDS)}"], stdout=subprocess.PIPE, text=True)
        self.thread = threading.Thread(target=self._add_up, daemon=True)
        self.thread.start()

    def _add_up(self):
        last = time.monotonic()
        for line in self.process.stdout:
            now = time.monotonic()
            with self.lock:
                self.total += float(line) * (now - last)
            last = now

    def joules(self):
        with self.lock:
            return self.total

    def close(self):
        self.process.terminate()
        self.thread.join()
        self.process.stdout.close()
        self.process.wait()


def find_meter(device, powercap=POWERCAP):
    """(meter, None), or (None, why there is none) for `device`: cpu or cuda."""
    if device == "cuda":
        program = shutil.which("nvidia-smi")
        if program is None:
            return None, "there is no nvidia-smi"
        card = os.environ.get("CUDA_VISIBLE_DEVICES", "0").split(",")[0]
        once = subprocess.run([program, f"--id={card}", "--query-gpu=power.draw", "--format=csv,noheader,nounits"],
                              capture_output=True, text=True, check=False)
        try:
            float(once.stdout)
        except ValueError:
            return None, "nvidia-smi does not tell the card's power"
        return NvidiaSmi(program, card), None
    packages = [domain for domain in sorted(powercap.glob("intel-rapl:*")) if (domain / "name").is_file()
                and (domain / "name").read_text(encoding="ascii").startswith("package")]
    if not packages:
        return None, "this machine shows no RAPL"
    try:
        return Rapl(packages), None
    except OSError as error:
        return None, f"RAPL cannot be read ({error.strerror})"

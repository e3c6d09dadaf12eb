#include "train/bench/timed.h"

#include <c10/core/Event.h>
#include <c10/core/impl/VirtualGuardImpl.h>

#include "train/device.h"
#include "train/stopwatch.h"

namespace skipless {

double milliseconds_of(c10::Device device, const std::function<void()>& work) {
  if (!device.is_cuda()) {
    const double begin = steady_seconds();
    work();
    return 1000 * (steady_seconds() - begin);
  }
  const auto stream = c10::impl::VirtualGuardImpl(device.type()).getStream(device);
  c10::Event begin(device.type(), c10::EventFlag::BACKEND_DEFAULT), end(device.type(), c10::EventFlag::BACKEND_DEFAULT);
  begin.record(stream);
  work();
  end.record(stream);
  synchronize(device);
  return begin.elapsedTime(end);
}

}  // namespace skipless

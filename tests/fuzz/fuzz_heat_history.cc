// Bytes of a heat history, with a correct checksum. An accepted history is shown, continues, and
// reads back as it was written; any other is refused.
#include <cstdint>
#include <cstdlib>
#include <string>

#include "base/compress.h"
#include "throughput/heat_history.h"

namespace {

using stator::Result;
using stator::throughput::HeatHistory;
using stator::throughput::HeatMap;

void Require(bool holds) {
  if (!holds) std::abort();
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  std::string bytes("HH\x01");
  bytes.append(reinterpret_cast<const char*>(data), size);
  const uint32_t crc = stator::Crc32(bytes);
  for (int shift = 0; shift < 32; shift += 8) bytes.push_back(static_cast<char>(crc >> shift));
  Result<HeatHistory> history = HeatHistory::Decode(bytes, HeatHistory::Settings());
  if (!history.ok()) return 0;
  const std::string written = history->Encode();
  const Result<HeatHistory> again = HeatHistory::Decode(written, HeatHistory::Settings());
  Require(again.ok() && again->Encode() == written);
  Require(history->Bytes() <= HeatHistory::MostBytes(HeatHistory::Settings()));
  for (const int64_t step : {1, 60, 3600}) {
    const HeatMap map = history->Map({.to_micros = INT64_MAX, .step_seconds = step});
    Require(map.columns() > 0 && map.cells.size() == map.rows.size());
  }
  const int64_t now = int64_t{1'700'000'000} * 1'000'000;
  history->Record(now, {{{1, {{}, {}, true}, false, {1, 2, 3, 4}}}});
  Require(history->Map({.from_micros = now - 1, .to_micros = now + 1}).columns() > 0);
  return 0;
}

#include "table/token_ledger.h"

#include <xxhash.h>

#include <array>

#include "base/pump.h"
#include "table/forget_tokens.h"
#include "table/item_value.h"
#include "table/ledger_tablet.h"

namespace stator::table {
namespace {

constexpr size_t kTimeBytes = 8;

std::string KeyOf(int64_t period, std::string_view token) {
  std::string key;
  key.reserve(8 + token.size());
  for (int shift = 56; shift >= 0; shift -= 8)
    key.push_back(static_cast<char>(static_cast<uint64_t>(period) >> shift));
  key.append(token);
  return key;
}

int64_t TimeOf(std::string_view entry) {
  uint64_t time = 0;
  for (size_t i = kTimeBytes; i-- > 0;) time = (time << 8) | static_cast<uint8_t>(entry[i]);
  return static_cast<int64_t>(time);
}

}  // namespace

std::string DigestOf(std::string_view bytes) {
  XXH128_canonical_t canonical;
  XXH128_canonicalFromHash(&canonical, XXH3_128bits(bytes.data(), bytes.size()));
  return std::string(reinterpret_cast<const char*>(canonical.digest), sizeof canonical.digest);
}

// The last key is of the latest period; any entry of a period leads into it.
Status TokenLedger::GoOn() {
  Status read;
  TRY(engine_.Scan({kLedgerTablet, "", "", true}, kv::Tier::kAny,
                   [&](std::string_view, std::string_view value) {
                     const Result<std::string_view> entry = DecodeItemValue(value);
                     if (!entry.ok()) {
                       read = entry.error();
                     } else if (entry->size() >= kTimeBytes) {
                       ages_.AtLeast(TimeOf(*entry));
                     }
                     return false;
                   }));
  return read;
}

Result<std::optional<std::string>> TokenLedger::Find(std::string_view token, kv::Tier tier) {
  const int64_t period = ages_.NowMicros() / kTokenLifeMicros;
  for (const int64_t candidate : {period, period - 1}) {
    std::string value;
    ASSIGN_OR_RETURN(const bool found,
                     engine_.Get(kLedgerTablet, KeyOf(candidate, token), tier, &value));
    if (!found) continue;
    ASSIGN_OR_RETURN(const std::string_view entry, DecodeItemValue(value));
    if (entry.size() < kTimeBytes)
      return CorruptionError("an entry of the token ledger is too short");
    if (RecordOf(entry)) return std::optional<std::string>(entry);
  }
  return std::optional<std::string>();
}

Result<std::optional<std::string>> TokenLedger::FindGuarded(std::string_view token, bool guess,
                                                            std::vector<kv::Guard>* guards) {
  const int64_t period = ages_.NowMicros() / kTokenLifeMicros;
  const std::array<std::string, 3> keys = {KeyOf(period, token), KeyOf(period - 1, token),
                                           KeyOf(period + 1, token)};
  std::vector<std::optional<std::string>> values(keys.size());
  if (!guess) {
    std::vector<kv::Point> points;
    for (const std::string& key : keys) points.push_back({kLedgerTablet, key});
    TRY(engine_.MultiGet(points, kv::Tier::kAny, &values));
  }
  std::optional<std::string> valid;
  for (size_t i = 0; i < keys.size(); ++i) {
    guards->push_back({kLedgerTablet, keys[i], values[i] ? kv::StampOf(*values[i]) : 0});
    if (!values[i]) continue;
    ASSIGN_OR_RETURN(const std::string_view entry, DecodeItemValue(*values[i]));
    if (entry.size() < kTimeBytes)
      return CorruptionError("an entry of the token ledger is too short");
    if (RecordOf(entry)) valid = std::string(entry);
  }
  return valid;
}

std::optional<std::string_view> TokenLedger::RecordOf(std::string_view entry) const {
  if (ages_.NowMicros() - TimeOf(entry) >= kTokenLifeMicros) return std::nullopt;
  return entry.substr(kTimeBytes);
}

std::string TokenLedger::Record(std::string_view token, std::string_view record, kv::Batch* batch) {
  const int64_t now = ages_.NowMicros();
  const int64_t period = now / kTokenLifeMicros;
  std::string entry;
  entry.reserve(kTimeBytes + record.size());
  for (size_t i = 0; i < kTimeBytes; ++i)
    entry.push_back(static_cast<char>(static_cast<uint64_t>(now) >> (8 * i)));
  entry.append(record);
  batch->puts.push_back({kLedgerTablet, KeyOf(period, token), EncodeItemValue(entry)});
  // If this batch is refused, the old periods wait for the beginning of the next one.
  int64_t last = last_period_.load(std::memory_order_relaxed);
  if (last < period &&
      last_period_.compare_exchange_strong(last, period, std::memory_order_relaxed)) {
    batch->range_deletes.push_back(
        {kLedgerTablet, "", KeyOf(shared_ ? period - 2 : period - 1, "")});
  }
  return entry;
}

Status ForgetTokens(Store& store, std::string_view prefix) {
  // The keys behind the last one that begins with it.
  std::string behind(prefix);
  ++behind.back();
  const int64_t period = store.ages().NowMicros() / kTokenLifeMicros;
  kv::Batch batch;
  for (const int64_t each : {period - 1, period, period + 1})
    batch.range_deletes.push_back({kLedgerTablet, KeyOf(each, prefix), KeyOf(each, behind)});
  Pump pump;
  std::optional<Status> outcome;
  store.engine().Apply(std::move(batch), [&pump, &outcome](Result<uint64_t> applied) {
    Status status = applied.ok() ? OkStatus() : Status(std::move(applied).error());
    pump.Post([&outcome, status = std::move(status)]() mutable { outcome = std::move(status); });
  });
  pump.RunUntil([&outcome] { return outcome.has_value(); });
  return *std::move(outcome);
}

}  // namespace stator::table

#include "server/store_secret.h"

#include <optional>
#include <utility>

#include "base/seal.h"
#include "table/item_value.h"

namespace stator::server {
namespace {

constexpr std::string_view kSealKey = "seal";
// A refused guard means that another process was faster, so the second look finds its secret.
constexpr int kTries = 8;

Result<std::optional<std::string>> Find(kv::Engine& engine) {
  std::string value;
  ASSIGN_OR_RETURN(const bool found, engine.Get(kSecretTablet, kSealKey, kv::Tier::kAny, &value));
  if (!found) return std::optional<std::string>();
  ASSIGN_OR_RETURN(const std::string_view secret, table::DecodeItemValue(value));
  if (secret.size() != Seal::kSecretBytes)
    return CorruptionError("the secret of the store has a wrong length");
  return std::optional<std::string>(secret);
}

}  // namespace

Result<std::string> StoreSecret(kv::Engine& engine) {
  Status refused = OkStatus();
  for (int i = 0; i < kTries; ++i) {
    ASSIGN_OR_RETURN(std::optional<std::string> found, Find(engine));
    if (found) return *std::move(found);
    kv::Batch batch;
    batch.guards.push_back({kSecretTablet, std::string(kSealKey), 0});
    kv::Put put;
    put.tablet = kSecretTablet;
    put.key = kSealKey;
    put.value = table::EncodeItemValue(Seal::DrawSecret());
    batch.puts.push_back(std::move(put));
    const Result<uint64_t> applied = kv::ApplyAndWait(engine, std::move(batch));
    if (!applied.ok()) refused = applied.error();
  }
  return std::move(refused).error();
}

}  // namespace stator::server

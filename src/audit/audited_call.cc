#include "audit/audited_call.h"

namespace stator::audit {
namespace {

constexpr size_t kMostAgent = 512;

}  // namespace

void NoteCaller(const access::HttpRequestView& http, const guard::Peer* peer, Record* record) {
  record->key_id = ShownKeyId(guard::ClaimedKey(http));
  if (peer != nullptr) record->address = peer->Address();
  record->user_agent = access::HeaderOf(http, "User-Agent").substr(0, kMostAgent);
}

}  // namespace stator::audit

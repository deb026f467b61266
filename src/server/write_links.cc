#include "server/write_links.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <optional>
#include <utility>

#include "base/log.h"
#include "http/acceptor.h"
#include "kv_rados/contention.h"
#include "kv_tx/transaction_engine.h"
#include "table/store.h"

namespace stator::server {
namespace {

// The longest body that is handed over. Longer ones are rare, and would delay the signs of life
// behind them.
constexpr size_t kMostBodyBytes = 64 << 10;
// A process that has not been reached for this long is told of: longer than it takes to connect.
constexpr int64_t kUnreachedMicros = 5'000'000;
// A beat names no more.
constexpr size_t kMostUnreached = 50;

//   request := tablet:4 part operation body      part, operation: length:1 bytes
//   answer  := contended:1 status:2 items:4 error body      error: length:1 bytes
// An empty answer: the outcome is unknown.

void AppendShort(std::string_view text, std::string* out) {
  link::AppendNumber(text.size(), 1, out);
  out->append(text);
}

bool TakeShort(std::string_view* from, std::string_view* text) {
  uint64_t size = 0;
  if (!link::TakeNumber(from, 1, &size) || from->size() < size) return false;
  *text = from->substr(0, size);
  from->remove_prefix(size);
  return true;
}

std::string EncodeAnswer(bool contended, const api::ForwardedAnswer& answer) {
  std::string text;
  if (answer.kind == api::ForwardedAnswer::Kind::kUnknown) return text;
  text.reserve(8 + answer.error.size() + answer.body.size());
  link::AppendNumber(contended ? 1 : 0, 1, &text);
  link::AppendNumber(static_cast<uint64_t>(answer.status), 2, &text);
  link::AppendNumber(static_cast<uint64_t>(answer.items), 4, &text);
  AppendShort(std::string_view(answer.error).substr(0, 255), &text);
  text.append(answer.body);
  return text;
}

// Returns an answer of an unknown outcome if the text is none.
api::ForwardedAnswer DecodeAnswer(std::string_view text, bool* contended) {
  uint64_t shared = 1, status = 0, items = 0;
  std::string_view error;
  const bool good = link::TakeNumber(&text, 1, &shared) && link::TakeNumber(&text, 2, &status) &&
                    link::TakeNumber(&text, 4, &items) && TakeShort(&text, &error);
  *contended = shared != 0;
  api::ForwardedAnswer answer;
  if (!good) return answer;
  answer.kind = api::ForwardedAnswer::Kind::kAnswered;
  answer.status = static_cast<int>(status);
  answer.items = static_cast<int64_t>(items);
  answer.error = error;
  answer.body = text;
  return answer;
}

// Returns the peer that a beat's link names; nullopt if it has none that this version can use.
std::optional<link::Peer> PeerOf(const std::string& id, const std::string& text) {
  const std::string prefix = fmt::format("{}/", link::kProtocolVersion);
  const size_t colon = text.rfind(':');
  if (!text.starts_with(prefix) || colon == text.npos || colon < prefix.size()) return std::nullopt;
  link::Peer peer;
  peer.id = id;
  peer.host = AddressOf(text.substr(prefix.size()));
  const std::string_view port = std::string_view(text).substr(colon + 1);
  const auto [end, error] = std::from_chars(port.data(), port.data() + port.size(), peer.port);
  if (error != std::errc() || end != port.data() + port.size()) return std::nullopt;
  return peer;
}

}  // namespace

Result<std::unique_ptr<WriteLinks>> WriteLinks::Listen(const PresenceSettings& settings,
                                                       const std::vector<std::string>& hosts) {
  std::unique_ptr<WriteLinks> links(new WriteLinks(settings));
  links->port_ = settings.link_port;
  ASSIGN_OR_RETURN(
      links->listening_,
      http::ListenOn(hosts.empty() ? http::ServerOptions().hosts : hosts, &links->port_));
  return links;
}

std::string WriteLinks::AddressFor(std::string_view endpoint) const {
  const std::string host = AddressOf(endpoint);
  return fmt::format("{}/{}:{}", link::kProtocolVersion,
                     host.find(':') == std::string::npos ? host : fmt::format("[{}]", host), port_);
}

Status WriteLinks::Start(api::Service& service, kv::Engine& engine, Peers& peers,
                         const Clock& clock, std::string_view store_secret) {
  auto* const transactions = dynamic_cast<kv_tx::TransactionEngine*>(&engine);
  if (transactions == nullptr) return OkStatus();
  service_ = &service;
  engine_ = &engine;
  writer_ = &transactions->inner();
  peers_ = &peers;
  clock_ = &clock;
  ownership_ = std::make_unique<link::Ownership>(peers.id());
  // A key of its own: nothing that the seal makes is good here.
  const std::string secret(access::AsText(access::HmacSha256(store_secret, "stator links")));
  link::Hub::Options options;
  options.asker.id = options.owner.id = peers.id();
  options.asker.secret = options.owner.secret = secret;
  options.asker.timeout_micros = settings_.link_timeout_micros;
  for (http::UniqueFd& fd : listening_) options.listening.push_back(fd.Release());
  ASSIGN_OR_RETURN(hub_, link::Hub::Open(std::move(options), clock, random_,
                                         [this](const std::string& asker, std::string request,
                                                kv::FatePtr permit, link::Hub::Reply reply) {
                                           Serve(asker, std::move(request), std::move(permit),
                                                 std::move(reply));
                                         }));
  hub_->Start();
  kv_rados::SetHooks(
      *writer_, {[this](const kv::Unit& unit) { ownership_->Lost(unit, clock_->TicksMicros()); },
                 [this] { hub_->leases().EndLate(); }});
  service.SetForwarding(this);
  LogInfo("links", {{"port", port_}});
  return OkStatus();
}

void WriteLinks::Follow() {
  if (hub_ == nullptr) return;
  const fleet::Membership membership = peers_->fleet().membership();
  std::vector<link::Peer> all;
  for (const auto& [id, member] : membership.members) {
    // Another version may know parameters of a request that this one passes over.
    if (id == peers_->id() || !member.alive || member.beat.version != STATOR_VERSION) continue;
    if (std::optional<link::Peer> peer = PeerOf(id, member.beat.link)) all.push_back(*peer);
  }
  hub_->SetPeers(all);
  std::vector<std::string> owners;
  const std::vector<std::string> warm = hub_->Warm();
  for (const std::string& id : warm) {
    const auto member = membership.members.find(id);
    if (member != membership.members.end() && !member->second.beat.draining.value_or(false))
      owners.push_back(id);
  }
  TellUnreached(all, warm);
  const auto self = membership.members.find(peers_->id());
  const bool draining =
      self != membership.members.end() && self->second.beat.draining.value_or(false);
  ownership_->SetOthers(std::move(owners), !draining);
  ownership_->Forget(clock_->TicksMicros());
}

void WriteLinks::TellUnreached(const std::vector<link::Peer>& peers,
                               const std::vector<std::string>& warm) {
  const int64_t now = clock_->TicksMicros();
  std::map<std::string, int64_t> missing;
  std::string ids;
  size_t told = 0;
  for (const link::Peer& peer : peers) {
    if (std::find(warm.begin(), warm.end(), peer.id) != warm.end()) continue;
    const auto before = missing_since_.find(peer.id);
    const int64_t since = before == missing_since_.end() ? now : before->second;
    missing[peer.id] = since;
    if (now - since < kUnreachedMicros || ++told > kMostUnreached) continue;
    if (!ids.empty()) ids.push_back(',');
    ids.append(peer.id);
  }
  missing_since_ = std::move(missing);
  peers_->fleet().SetUnreached(std::move(ids));
}

void WriteLinks::BeginStop() {
  if (hub_ == nullptr) return;
  ownership_->SetOthers({}, true);
  hub_->BeginStop();
}

void WriteLinks::Stop() {
  if (hub_ == nullptr) return;
  hub_->Stop();
  kv_rados::SetHooks(*writer_, {});
}

Result<kv::Unit> WriteLinks::UnitOf(const ops::WrittenItem& item) const {
  return engine_->UnitOf(item.table->descriptor.tablet(), item.key, kv::Tier::kMemory);
}

api::WriteOwner WriteLinks::OwnerOf(std::span<const ops::WrittenItem> items) {
  if (!ownership_->active()) return {};
  std::vector<kv::Unit> units;
  units.reserve(items.size());
  for (const ops::WrittenItem& item : items) {
    Result<kv::Unit> unit = UnitOf(item);
    if (!unit.ok()) return {};
    units.push_back(*std::move(unit));
  }
  link::Ownership::Owner owner = ownership_->OwnerOf(units, clock_->TicksMicros());
  return {std::move(owner.process), owner.unit};
}

bool WriteLinks::Send(const api::WriteOwner& owner, std::span<const ops::WrittenItem> items,
                      std::string_view operation, std::string_view body, api::ForwardedDone& done) {
  if (body.size() > kMostBodyBytes || operation.size() > 255) return false;
  Result<kv::Unit> unit = UnitOf(items[owner.item]);
  if (!unit.ok() || unit->part.size() > 255) return false;
  std::string request;
  request.reserve(6 + unit->part.size() + operation.size() + body.size());
  link::AppendNumber(unit->tablet.id, 4, &request);
  AppendShort(unit->part, &request);
  AppendShort(operation, &request);
  request.append(body);
  // The hub leaves it alone if it cannot ask.
  auto kept = std::make_shared<api::ForwardedDone>(std::move(done));
  std::vector<std::pair<kv::Tablet, std::string>> keys;
  keys.reserve(items.size());
  for (const ops::WrittenItem& item : items)
    keys.emplace_back(item.table->descriptor.tablet(), item.key);
  link::AnswerDone answered = [this, kept, unit = *std::move(unit),
                               keys = std::move(keys)](link::Answer answer) {
    // Written or perhaps written: a read of this server must not be from before.
    if (answer.outcome != link::Outcome::kRefused) {
      for (const auto& [tablet, key] : keys) kv_rados::NoteElsewhere(*writer_, tablet, key);
    }
    api::ForwardedAnswer forwarded;
    if (answer.outcome == link::Outcome::kRefused) {
      forwarded.kind = api::ForwardedAnswer::Kind::kRefused;
    } else if (answer.outcome == link::Outcome::kAnswered) {
      bool contended = true;
      forwarded = DecodeAnswer(answer.bytes, &contended);
      ownership_->Told(unit, contended, clock_->TicksMicros());
    }
    (*kept)(std::move(forwarded));
  };
  if (hub_->Ask(owner.process, request, answered)) return true;
  done = std::move(*kept);
  return false;
}

void WriteLinks::Serve(const std::string& asker, std::string request, kv::FatePtr permit,
                       link::Hub::Reply reply) {
  std::string_view rest = request;
  kv::Unit unit;
  uint64_t tablet = 0;
  std::string_view part, operation;
  if (!link::TakeNumber(&rest, 4, &tablet) || !TakeShort(&rest, &part) ||
      !TakeShort(&rest, &operation))
    return reply(true, {});
  unit.tablet = {kv::Space::kItems, static_cast<uint32_t>(tablet)};
  unit.part = part;
  const bool contended = ownership_->NoteForwarded(unit, asker, clock_->TicksMicros());
  const std::string target(operation);
  const size_t begin = request.size() - rest.size(), size = rest.size();
  request.append(api::kBodyPadding, '\0');
  service_->HandleForwarded(
      target, std::string_view(request).substr(begin, size), std::move(permit), *hub_,
      [contended, reply = std::move(reply)](api::ForwardedAnswer answer) mutable {
        reply(answer.kind == api::ForwardedAnswer::Kind::kRefused, EncodeAnswer(contended, answer));
      });
}

std::map<std::string, double> WriteLinks::Statistics() const {
  if (hub_ == nullptr) return {};
  const link::HubStatistics now = hub_->Statistics();
  const auto number = [](uint64_t count) { return static_cast<double>(count); };
  return {{"links", number(now.connections)},
          {"links_broken", number(now.broken)},
          {"links_writes_forwarded", number(now.asked)},
          {"links_writes_refused", number(now.refused)},
          {"links_writes_unknown", number(now.unknown)},
          {"links_writes_served", number(now.served)}};
}

}  // namespace stator::server

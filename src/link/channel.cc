#include "link/channel.h"

#include <utility>

namespace stator::link {
namespace {

constexpr std::string_view kMagic = "STATORLK";
constexpr size_t kLengthBytes = 4;

std::string EncodeHello(const Hello& hello, access::SecureRandom& random) {
  std::string text(kMagic);
  AppendNumber(kProtocolVersion, 1, &text);
  AppendNumber(hello.timeout_millis, 4, &text);
  text.append(hello.id);
  text.resize(kHelloBytes - 32, ' ');
  text.append(random.Bytes(32));
  return text;
}

std::string NonceOf(uint64_t number) {
  std::string nonce;
  AppendNumber(number, 8, &nonce);
  nonce.resize(access::kGcmNonceBytes, '\0');
  return nonce;
}

Error NoPeer(std::string what) { return Error(ErrorCode::kUnavailable, std::move(what)); }

}  // namespace

void AppendNumber(uint64_t number, size_t bytes, std::string* out) {
  for (size_t i = 0; i < bytes; ++i) out->push_back(static_cast<char>(number >> (8 * i)));
}

bool TakeNumber(std::string_view* from, size_t bytes, uint64_t* number) {
  if (from->size() < bytes) return false;
  *number = 0;
  for (size_t i = 0; i < bytes; ++i)
    *number |= uint64_t{static_cast<uint8_t>((*from)[i])} << (8 * i);
  from->remove_prefix(bytes);
  return true;
}

Channel::Channel(Side side, std::string secret, Hello own, size_t most_bytes,
                 access::SecureRandom& random)
    : side_(side),
      secret_(std::move(secret)),
      most_bytes_(most_bytes),
      own_hello_(EncodeHello(own, random)) {
  // The owner says nothing to a stranger.
  if (side_ == Side::kAsker) output_ = own_hello_;
}

std::string Channel::KeyOf(Side from) const {
  const bool asker = side_ == Side::kAsker;
  std::string message = "stator link";
  message.push_back(static_cast<char>(from));
  message.append(asker ? own_hello_ : other_hello_);
  message.append(asker ? other_hello_ : own_hello_);
  return std::string(access::AsText(access::HmacSha256(secret_, message)));
}

Status Channel::TakeHello() {
  other_hello_ = input_.substr(0, kHelloBytes);
  input_.erase(0, kHelloBytes);
  std::string_view rest = other_hello_;
  rest.remove_prefix(kMagic.size());
  uint64_t version = 0, timeout = 0;
  TakeNumber(&rest, 1, &version);
  TakeNumber(&rest, 4, &timeout);
  if (!other_hello_.starts_with(kMagic) || version != kProtocolVersion)
    return NoPeer("the other side speaks another protocol");
  other_.id = rest.substr(0, kIdBytes);
  other_.timeout_millis = static_cast<uint32_t>(timeout);
  if (side_ == Side::kOwner) output_.append(own_hello_);
  receiving_key_ = KeyOf(side_ == Side::kAsker ? Side::kOwner : Side::kAsker);
  sending_key_ = KeyOf(side_);
  return OkStatus();
}

Status Channel::Receive(std::string_view bytes, std::vector<std::string>* payloads) {
  input_.append(bytes);
  if (!open()) {
    const size_t seen = std::min(input_.size(), kMagic.size());
    if (std::string_view(input_).substr(0, seen) != kMagic.substr(0, seen))
      return NoPeer("the other side speaks another protocol");
    if (input_.size() < kHelloBytes) return OkStatus();
    TRY(TakeHello());
  }
  std::string_view rest = input_;
  while (rest.size() >= kLengthBytes) {
    const std::string_view head = rest.substr(0, kLengthBytes);
    std::string_view tail = rest;
    uint64_t length = 0;
    TakeNumber(&tail, kLengthBytes, &length);
    if (length < access::kGcmTagBytes || length > most_bytes_ + access::kGcmTagBytes)
      return NoPeer("a frame has a wrong length");
    if (tail.size() < length) break;
    std::string payload;
    if (!access::DecryptGcm(receiving_key_, NonceOf(received_), head, tail.substr(0, length),
                            &payload))
      return NoPeer("the other side does not know the secret of the store");
    ++received_;
    payloads->push_back(std::move(payload));
    rest = tail.substr(length);
  }
  input_.erase(0, input_.size() - rest.size());
  return OkStatus();
}

void Channel::Send(std::string_view payload) {
  const size_t begin = output_.size();
  AppendNumber(payload.size() + access::kGcmTagBytes, kLengthBytes, &output_);
  const std::string head = output_.substr(begin);
  access::EncryptGcm(sending_key_, NonceOf(sent_++), head, payload, &output_);
}

}  // namespace stator::link

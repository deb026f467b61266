#include "http/request_reader.h"

#include <algorithm>
#include <cstring>

#include "base/ascii.h"

namespace stator::http {
namespace {

constexpr size_t kMinRoom = 2048;
constexpr size_t kFirstGrowth = 64 * 1024;

std::string_view Rebase(std::string_view view, const char* from, const char* to) {
  return view.data() == nullptr ? view : std::string_view(to + (view.data() - from), view.size());
}

}  // namespace

std::string_view Request::header(std::string_view name) const {
  for (const Header& header : headers) {
    if (EqualsIgnoringCase(header.name, name)) return header.value;
  }
  return {};
}

// What http_parser calls. Pieces of one token arrive in several calls when a read ended within it;
// the buffer keeps them adjacent, so a token is extended in place. A gap can only be an obsolete
// folded line, which is refused.
struct RequestReader::Callbacks {
  static RequestReader& Self(http_parser* parser) {
    return *static_cast<RequestReader*>(parser->data);
  }

  static bool Extend(std::string_view* view, const char* at, size_t length) {
    if (view->data() + view->size() != at) return false;
    *view = std::string_view(view->data(), view->size() + length);
    return true;
  }

  static int Url(http_parser* parser, const char* at, size_t length) {
    RequestReader& self = Self(parser);
    if (self.target_.data() == nullptr) {
      self.target_ = std::string_view(at, length);
      return 0;
    }
    return Extend(&self.target_, at, length) ? 0 : 1;
  }

  static int Field(http_parser* parser, const char* at, size_t length) {
    RequestReader& self = Self(parser);
    if (self.headers_complete_) return 0;  // a trailer
    std::vector<Header>& headers = self.request_.headers;
    if (self.in_value_ || headers.empty()) {
      if (at[-2] != '\r') return 1;  // the line before ended with a bare LF
      headers.push_back({std::string_view(at, length), {}});
      self.in_value_ = false;
      return 0;
    }
    return Extend(&headers.back().name, at, length) ? 0 : 1;
  }

  static int Value(http_parser* parser, const char* at, size_t length) {
    RequestReader& self = Self(parser);
    if (self.headers_complete_) return 0;
    if (self.request_.headers.empty()) return 1;
    Header& header = self.request_.headers.back();
    if (!self.in_value_) {
      self.in_value_ = true;
      header.value = std::string_view(at, length);
      const char* name_end = header.name.data() + header.name.size();
      return length > 0 && std::memchr(name_end, '\n', at - name_end) != nullptr ? 1 : 0;
    }
    return Extend(&header.value, at, length) ? 0 : 1;
  }

  // http_parser reads 1 and 2 from this callback as "skip the body".
  static constexpr int kRefuse = -1;
  static int HeadersComplete(http_parser* parser) {
    RequestReader& self = Self(parser);
    self.headers_complete_ = true;
    const char* const end = self.HeadersEnd();
    if (end == nullptr) return kRefuse;
    int lengths = 0, encodings = 0, hosts = 0;
    for (Header& header : self.request_.headers) {
      if (header.name.find(' ') != std::string_view::npos) return kRefuse;
      header.value = Trim(header.value, " \t");
      if (header.name.size() == 14 && EqualsIgnoringCase(header.name, "Content-Length")) {
        ++lengths;
      } else if (header.name.size() == 17 && EqualsIgnoringCase(header.name, "Transfer-Encoding")) {
        ++encodings;
        if (!EqualsIgnoringCase(header.value, "chunked")) return kRefuse;
      } else if (header.name.size() == 4 && EqualsIgnoringCase(header.name, "Host")) {
        ++hosts;
      }
    }
    // Where two servers in a row could disagree about the end of a body, a request could be
    // smuggled past the first.
    if (lengths > 1 || encodings > 1 || (lengths > 0 && encodings > 0)) return kRefuse;
    if (parser->http_major != 1 || (encodings > 0 && parser->http_minor == 0)) return kRefuse;
    if ((encodings > 0) != ((parser->flags & F_CHUNKED) != 0)) return kRefuse;
    // A server and a proxy that each pick another of two hosts disagree as well.
    if (hosts > 1 || (hosts == 0 && parser->http_minor >= 1)) return kRefuse;
    self.chunked_ = encodings > 0;
    self.content_length_ = lengths > 0 ? parser->content_length : 0;
    parser->upgrade = 0;  // not offered, so the connection stays what it is
    self.header_bytes_ = end - (self.data_.get() + self.begin_);
    const char* const received = self.data_.get() + self.end_;
    if (self.chunked_ && !self.framing_.Take(std::string_view(end, received - end))) return kRefuse;
    return 0;
  }

  // A chunk is moved down to the end of the body so far, over its length line, so that the body is
  // one piece.
  static int Body(http_parser* parser, const char* at, size_t length) {
    RequestReader& self = Self(parser);
    char* request = self.data_.get() + self.begin_;
    if (!self.has_body_start_) {
      self.has_body_start_ = true;
      self.body_start_ = at - request;
    }
    char* to = request + self.body_start_ + self.body_bytes_;
    if (to != at) std::memmove(to, at, length);
    self.body_bytes_ += length;
    return 0;
  }

  static int MessageComplete(http_parser* parser) {
    RequestReader& self = Self(parser);
    self.complete_ = true;
    self.keep_alive_ = http_should_keep_alive(parser) != 0;
    http_parser_pause(parser, 1);
    return 0;
  }

  static const http_parser_settings& Settings() {
    static const http_parser_settings settings = [] {
      http_parser_settings made;
      http_parser_settings_init(&made);
      made.on_url = Url;
      made.on_header_field = Field;
      made.on_header_value = Value;
      made.on_headers_complete = HeadersComplete;
      made.on_body = Body;
      made.on_message_complete = MessageComplete;
      return made;
    }();
    return settings;
  }
};

RequestReader::RequestReader() : data_(new char[kCapacity + kBodyPadding]), capacity_(kCapacity) {
  StartRequest();
}

void RequestReader::StartRequest() {
  http_parser_init(&parser_, HTTP_REQUEST);
  parser_.data = this;
  request_.headers.clear();
  request_.method = request_.target = request_.body = target_ = {};
  in_value_ = headers_complete_ = complete_ = chunked_ = keep_alive_ = has_body_start_ = false;
  header_bytes_ = body_start_ = body_bytes_ = 0;
  content_length_ = 0;
  framing_ = ChunkFraming();
  skipped_cr_ = false;
}

// Skips the line end that some old clients put behind a body, to which it does not belong. False if
// that is no CR LF.
bool RequestReader::SkipEmptyLines() {
  while (parsed_ < end_ && data_[parsed_] == (skipped_cr_ ? '\n' : '\r')) {
    skipped_cr_ = !skipped_cr_;
    ++parsed_;
  }
  begin_ = parsed_;
  return begin_ == end_ || (!skipped_cr_ && data_[begin_] != '\n');
}

// Returns the end of the headers, behind the empty line. Null if the last line before the empty
// line, or the empty line itself, does not end with CR LF. Callbacks::Field has already checked
// the end of every earlier line.
const char* RequestReader::HeadersEnd() const {
  const char* end = nullptr;
  if (request_.headers.empty()) {
    const char* const target_end = target_.data() + target_.size();
    const char* const received = data_.get() + end_;
    end = static_cast<const char*>(std::memchr(target_end, '\n', received - target_end));
    if (end == nullptr) return nullptr;
    end += 3;
  } else {
    // http_parser puts an empty value behind its line end.
    const std::string_view last = request_.headers.back().value;
    end = last.data() + last.size() + (last.empty() ? 2 : 4);
  }
  return std::memcmp(end - 4, "\r\n\r\n", 4) == 0 ? end : nullptr;
}

RequestReader::Progress RequestReader::Parse() {
  if (parsed_ == begin_) {
    if (!SkipEmptyLines()) return Progress::kBad;
    if (begin_ == end_) {
      begin_ = parsed_ = end_ = 0;
      return Progress::kMore;
    }
  }
  if (chunked_ && !framing_.Take(std::string_view(data_.get() + parsed_, end_ - parsed_)))
    return Progress::kBad;
  parsed_ +=
      http_parser_execute(&parser_, &Callbacks::Settings(), data_.get() + parsed_, end_ - parsed_);
  if (complete_) {
    request_.method = http_method_str(static_cast<http_method>(parser_.method));
    request_.target = target_;
    request_.body = std::string_view(data_.get() + begin_ + body_start_, body_bytes_);
    return Progress::kComplete;
  }
  if (HTTP_PARSER_ERRNO(&parser_) != HPE_OK || parsed_ != end_) return Progress::kBad;
  if (headers_complete_) {
    if (!has_body_start_) {
      has_body_start_ = true;
      body_start_ = parsed_ - begin_;
    }
    // Length lines of chunks have been read: what comes next goes right behind the body.
    if (chunked_) parsed_ = end_ = begin_ + body_start_ + body_bytes_;
  }
  return Progress::kMore;
}

size_t RequestReader::MakeRoom() {
  if (headers_complete_ && !chunked_) {
    const size_t needed = body_start_ + content_length_;
    if (begin_ + needed <= capacity_) return 0;
    if (needed <= capacity_) {
      MoveTo(data_.get(), capacity_);
      return 0;
    }
    if (space_bytes() >= kMinRoom) return 0;
    return std::min(needed, std::max(kFirstGrowth, capacity_ * 2));
  }
  if (space_bytes() >= kMinRoom) return 0;
  if (begin_ >= kMinRoom) {
    MoveTo(data_.get(), capacity_);
    return 0;
  }
  return capacity_ * 2;
}

// Moves the request to the front of `to` (null: of a new buffer) and adjusts all views into it.
void RequestReader::MoveTo(char* to, size_t capacity) {
  std::unique_ptr<char[]> fresh;
  if (to == nullptr) {
    fresh.reset(new char[capacity + kBodyPadding]);
    to = fresh.get();
  }
  const char* from = data_.get() + begin_;
  std::memmove(to, from, end_ - begin_);
  target_ = Rebase(target_, from, to);
  for (Header& header : request_.headers) {
    header.name = Rebase(header.name, from, to);
    header.value = Rebase(header.value, from, to);
  }
  parsed_ -= begin_;
  end_ -= begin_;
  begin_ = 0;
  capacity_ = capacity;
  if (fresh != nullptr) data_ = std::move(fresh);
}

bool RequestReader::expects_continue() const {
  return headers_complete_ && parser_.http_minor >= 1 &&
         EqualsIgnoringCase(request_.header("Expect"), "100-continue");
}

void RequestReader::Next() {
  begin_ = parsed_;
  if (begin_ == end_) begin_ = parsed_ = end_ = 0;
  StartRequest();
}

void RequestReader::Clear() {
  begin_ = parsed_ = end_ = 0;
  if (capacity_ != kCapacity) {
    data_.reset(new char[kCapacity + kBodyPadding]);
    capacity_ = kCapacity;
  }
  if (request_.headers.capacity() > 256) request_.headers.shrink_to_fit();
  StartRequest();
}

}  // namespace stator::http

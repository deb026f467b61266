#include "http/reply_head.h"

#include <charconv>
#include <cstdio>
#include <ctime>

namespace stator::http {
namespace {

void AppendNumber(uint64_t number, std::string* out) {
  char digits[20];
  const std::to_chars_result end = std::to_chars(digits, digits + sizeof(digits), number);
  out->append(digits, end.ptr - digits);
}

}  // namespace

std::string_view CommonHeaders::At(int64_t now_micros) {
  const int64_t second = now_micros / 1'000'000;
  if (second == second_) return lines_;
  second_ = second;
  static constexpr const char* kDays[] = {"Sun", "Mon", "Tue", "Wed", "Thu", "Fri", "Sat"};
  static constexpr const char* kMonths[] = {"Jan", "Feb", "Mar", "Apr", "May", "Jun",
                                            "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"};
  const std::time_t time = static_cast<std::time_t>(second);
  std::tm utc{};
  gmtime_r(&time, &utc);
  char date[80];
  // Not strftime, whose names follow the locale.
  std::snprintf(date, sizeof(date), "%s, %02d %s %04d %02d:%02d:%02d GMT", kDays[utc.tm_wday],
                utc.tm_mday, kMonths[utc.tm_mon], utc.tm_year + 1900, utc.tm_hour, utc.tm_min,
                utc.tm_sec);
  // A browser must not take item data for a script or a page, whatever the bytes look like.
  lines_ =
      std::string("Server: Server\r\nX-Content-Type-Options: nosniff\r\nDate: ") + date + "\r\n";
  return lines_;
}

std::string_view ReasonPhrase(int status) {
  switch (status) {
    case 100: return "Continue";
    case 200: return "OK";
    case 201: return "Created";
    case 202: return "Accepted";
    case 204: return "No Content";
    case 206: return "Partial Content";
    case 301: return "Moved Permanently";
    case 302: return "Found";
    case 303: return "See Other";
    case 304: return "Not Modified";
    case 307: return "Temporary Redirect";
    case 308: return "Permanent Redirect";
    case 400: return "Bad Request";
    case 401: return "Unauthorized";
    case 403: return "Forbidden";
    case 404: return "Not Found";
    case 405: return "Method Not Allowed";
    case 406: return "Not Acceptable";
    case 408: return "Request Timeout";
    case 409: return "Conflict";
    case 411: return "Length Required";
    case 412: return "Precondition Failed";
    case 413: return "Request Entity Too Large";
    case 415: return "Unsupported Media Type";
    case 429: return "Too Many Requests";
    case 500: return "Internal Server Error";
    case 501: return "Not Implemented";
    case 502: return "Bad Gateway";
    case 503: return "Service Unavailable";
    case 504: return "Gateway Timeout";
    default: return "Unknown";
  }
}

void AppendReplyHead(const Reply& reply, size_t body_bytes, std::string_view common, bool close,
                     std::string* out) {
  if (reply.status == 200) {
    out->append("HTTP/1.1 200 OK\r\n");
  } else {
    out->append("HTTP/1.1 ");
    AppendNumber(reply.status, out);
    out->push_back(' ');
    out->append(ReasonPhrase(reply.status));
    out->append("\r\n");
  }
  out->append(common);
  out->append(close ? "Connection: close\r\n" : "Connection: keep-alive\r\n");
  for (const auto& [name, value] : reply.headers) {
    // Not find_first_of, which searches its set anew for every character: 4 % of a GetItem.
    if (value.find('\r') != std::string::npos || value.find('\n') != std::string::npos) continue;
    out->append(name);
    out->append(": ");
    out->append(value);
    out->append("\r\n");
  }
  if (!HasNoBody(reply.status)) {
    out->append("Content-Length: ");
    AppendNumber(body_bytes, out);
    out->append("\r\n");
  }
  out->append("\r\n");
}

}  // namespace stator::http

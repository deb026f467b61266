// Serves the console: GET and HEAD of /console/ and what is below it.
//
//   /console/             index.html; revalidated by its ETag each time
//   /console/assets/NAME  a file whose name changes with its content; kept for a year
//   /console/ELSE         302 to /console/: the view stands behind the # of the address
//   /console, /shell      302 to /console/
//   /                     the same for a browser; other clients get what the API answers
//
// Files are sent as they are stored, compressed, and inflated for clients that do not take gzip.
// They hold no data, so they need no sign-in. The page draws on
// Content-Security-Policy: no script, style or connection of another origin.
#pragma once

#include "http/server.h"

namespace stator::console {

// Thread-safe.
class Pages {
 public:
  // `on` false: no redirects, and /console/ is a 404 that says so.
  explicit Pages(bool on) : on_(on) {}

  // Whether a request is answered here. Costs a POST to / two comparisons.
  bool Owns(const http::Request& request) const;
  http::Reply Answer(const http::Request& request) const;

 private:
  const bool on_;
};

}  // namespace stator::console

// What a worker of compare.sh says and hears, a line each way:
//   prepare ID OP SHAPE DTYPE CAUSAL PASS WAY FOLDER   ok | no REASON   and FOLDER/0.npy, 1.npy,
//   ... time ID                                            milliseconds of one run forget ok
// SHAPE is 1x4x64x32, DTYPE f32 or f64, CAUSAL 0 or 1, PASS f or fg.
#pragma once

#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstdint>
#include <functional>
#include <iostream>
#include <map>
#include <sstream>
#include <stdexcept>
#include <string>
#include <vector>

struct Request {
  std::string op, dtype, pass, way, folder;
  std::vector<std::int64_t> shape;
  bool causal = false;
};

/// What is timed, and what writes the results of a run as FOLDER/0.npy, 1.npy, ...
struct Case {
  std::function<void()> run;
  std::function<void(const std::string& folder)> save;
};

/// Value i of input `stream`, of mean 0 and variance 1: the same in every worker.
inline double input_value(std::uint32_t stream, std::uint32_t i) {
  std::uint32_t h = i + stream * 0x9E3779B9u;  // then the last steps of MurmurHash3
  h = (h ^ (h >> 16)) * 0x85EBCA6Bu;
  h = (h ^ (h >> 13)) * 0xC2B2AE35u;
  h ^= h >> 16;
  return std::sqrt(3.0) * (h / 2147483648.0 - 1);
}

inline double milliseconds(const std::function<void()>& run, int times) {
  const auto start = std::chrono::steady_clock::now();
  for (int i = 0; i < times; ++i) run();
  const std::chrono::duration<double, std::milli> spent = std::chrono::steady_clock::now() - start;
  return spent.count() / times;
}

constexpr double kLong = 10;  // ms

/// The mean of as many runs as fill kLong; a short one after another that brings the caches back.
inline double timed(const std::function<void()>& run, double& estimate) {
  if (estimate < kLong) run();
  const int times = std::max(1, static_cast<int>(kLong / std::max(estimate, 1e-4)));
  return estimate = milliseconds(run, times);
}

inline Request parse(std::istream& in) {
  Request r;
  std::string shape, axis;
  if (!(in >> r.op >> shape >> r.dtype >> r.causal >> r.pass >> r.way >> r.folder))
    throw std::invalid_argument("a request is OP SHAPE DTYPE CAUSAL PASS WAY FOLDER");
  std::istringstream axes(shape.front() == '[' ? shape.substr(1, shape.size() - 2) : shape);
  while (std::getline(axes, axis, 'x')) r.shape.push_back(std::stoll(axis));
  return r;
}

/// Answers requests until there are no more; `make` throws where it cannot do what is asked.
inline int serve(const std::string& about, const std::function<Case(const Request&)>& make) {
  struct Prepared {
    Case work;
    double estimate;
  };
  std::map<std::string, Prepared> cases;
  std::string line, command, id;
  while (std::getline(std::cin, line)) {
    std::istringstream in(line);
    in >> command >> id;
    try {
      if (command == "prepare") {
        const Request request = parse(in);
        Case work = make(request);
        work.save(request.folder);
        cases[id] = {work, kLong};  // until the first timing, of one run, tells
        std::cout << "ok" << std::endl;
      } else if (command == "time") {
        Prepared& p = cases.at(id);
        std::cout << timed(p.work.run, p.estimate) << std::endl;
      } else if (command == "forget") {
        cases.clear();
        std::cout << "ok" << std::endl;
      } else if (command == "about") {
        std::cout << about << std::endl;
      } else {
        throw std::invalid_argument("there is no command '" + command + "'");
      }
    } catch (const std::exception& error) {
      std::cout << "no " << error.what() << std::endl;
    }
  }
  return 0;
}

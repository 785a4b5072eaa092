
"use strict";
(function () {
  // Filters: within a group any chosen value matches; every group and every word has to match. What is chosen is kept in the URL,
  // as LIST.GROUP=VALUE.
  var forms = {};
  function remember() {
    var query = new URLSearchParams();
    Object.keys(forms).forEach(function (id) { forms[id].write(query, id); });
    var text = query.toString();
    // A page from a file may not have its URL changed everywhere.
    try { history.replaceState(null, "", location.pathname + (text ? "?" + text : "") + location.hash); } catch (error) { return; }
  }
  document.querySelectorAll("form[data-filters]").forEach(function (form) {
    var list = document.getElementById(form.dataset.filters);
    var items = Array.from(list.querySelectorAll("[data-item]"));
    var search = form.querySelector("input[type=search]");
    var output = form.querySelector("output");
    var texts = new Map();
    function text(item) {
      if (!texts.has(item)) {
        var from = item.tagName === "DETAILS" ? [item.querySelector("summary"), item.querySelector(".about"), item.querySelector(".because")].concat(Array.from(item.querySelectorAll("a.id, blockquote"))) : [item];
        var suite = item.closest("[data-suite]");
        if (suite) from = from.concat(item.parentElement.querySelector(".why"));
        texts.set(item, from.map(function (part) { return part ? part.textContent : ""; }).concat(suite ? suite.dataset.suite : []).join(" ").toLowerCase());
      }
      return texts.get(item);
    }
    function apply() {
      var words = search.value.toLowerCase().split(/\s+/).filter(Boolean);
      var wanted = {};
      form.querySelectorAll("input[type=checkbox]:checked").forEach(function (box) {
        (wanted[box.name] = wanted[box.name] || []).push(box.value);
      });
      form.querySelectorAll("select").forEach(function (choice) {
        if (choice.value) wanted[choice.name] = [choice.value];
      });
      var shown = 0;
      items.forEach(function (item) {
        var fits = Object.keys(wanted).every(function (key) {
          var has = item.dataset[key] || "";
          // A case may have several causes.
          return wanted[key].includes(has) || (key === "cause" && has.split(" ").includes(wanted[key][0]));
        })
          && words.every(function (word) { return text(item).includes(word); });
        item.hidden = !fits;
        if (fits) shown += 1;
      });
      list.querySelectorAll(".group, .rows ul").forEach(function (group) {
        group.hidden = !group.querySelector("[data-item]:not([hidden])");
      });
      output.textContent = shown === items.length ? items.length + " shown" : shown + " of " + items.length + " shown";
    }
    function changed() { apply(); remember(); }
    form.addEventListener("input", changed);
    form.addEventListener("reset", function () { setTimeout(changed, 0); });
    forms[form.dataset.filters] = {
      write: function (query, id) {
        if (search.value) query.append(id + ".words", search.value);
        form.querySelectorAll("input[type=checkbox]:checked, select").forEach(function (field) {
          if (field.value) query.append(id + "." + field.name, field.value);
        });
      },
      read: function (query, id) {
        search.value = query.get(id + ".words") || "";
        form.querySelectorAll("input[type=checkbox]").forEach(function (box) {
          box.checked = query.getAll(id + "." + box.name).includes(box.value);
        });
        form.querySelectorAll("select").forEach(function (choice) {
          choice.value = query.get(id + "." + choice.name) || "";
          if (choice.selectedIndex < 0) choice.value = "";
        });
        apply();
      },
      choose: function (name, value) {
        form.reset();
        form.querySelector("select[name=" + name + "]").value = value;
        // After the reset has been heard.
        setTimeout(changed, 0);
      }
    };
    form.addEventListener("submit", function (event) { event.preventDefault(); });
    form.hidden = items.length < 2;
    apply();
  });

  var asked = new URLSearchParams(location.search);
  if (location.search) Object.keys(forms).forEach(function (id) { forms[id].read(asked, id); });
  document.querySelectorAll("button.narrow").forEach(function (button) {
    var form = document.querySelector("form[data-filters=" + button.dataset.form + "]");
    // With one cause there is nothing to choose.
    button.hidden = !form || !form.querySelector("select[name=" + button.dataset.name + "]");
    button.addEventListener("click", function () {
      forms[button.dataset.form].choose(button.dataset.name, button.dataset.value);
      form.scrollIntoView();
    });
  });

  function setOpen(id, open) {
    document.getElementById(id).querySelectorAll("details.case:not([hidden])").forEach(function (item) { item.open = open; });
  }
  document.querySelectorAll("[data-open]").forEach(function (button) {
    button.addEventListener("click", function () { setOpen(button.dataset.open, true); });
  });
  document.querySelectorAll("[data-close]").forEach(function (button) {
    button.addEventListener("click", function () { setOpen(button.dataset.close, false); });
  });

  // The target of a link has to be visible: unhide it, and open it and its ancestors.
  function reveal() {
    var target = location.hash.length > 1 && document.getElementById(decodeURIComponent(location.hash.slice(1)));
    if (!target) return;
    var item = target.closest("[data-item][hidden]");
    if (item) {
      item.hidden = false;
      for (var group = item.parentElement; group; group = group.parentElement) group.hidden = false;
    }
    for (var part = target; part; part = part.parentElement) {
      if (part.tagName === "DETAILS") part.open = true;
    }
    target.scrollIntoView();
  }
  window.addEventListener("hashchange", reveal);
  reveal();

  // Open everything for printing.
  var opened = [];
  window.addEventListener("beforeprint", function () {
    document.querySelectorAll(".findings details:not([open]):not(.raw)").forEach(function (item) {
      item.open = true;
      opened.push(item);
    });
  });
  window.addEventListener("afterprint", function () {
    opened.forEach(function (item) { item.open = false; });
    opened = [];
  });

  function copy(code, button) {
    function done() {
      button.textContent = "Copied";
      setTimeout(function () { button.textContent = "Copy"; }, 1500);
    }
    function select() {
      var range = document.createRange();
      range.selectNodeContents(code);
      var selection = getSelection();
      selection.removeAllRanges();
      selection.addRange(range);
      if (document.execCommand("copy")) done();
    }
    // A page opened from a file may not use the clipboard API; copying a selection always works.
    if (navigator.clipboard && window.isSecureContext) navigator.clipboard.writeText(code.textContent).then(done, select);
    else select();
  }
  document.querySelectorAll("code.copied").forEach(function (code) {
    var button = document.createElement("button");
    button.type = "button";
    button.className = "copy";
    button.textContent = "Copy";
    button.setAttribute("aria-live", "polite");
    button.addEventListener("click", function () { copy(code, button); });
    var replay = code.closest(".replay");
    if (replay) replay.appendChild(button);
    else code.after(button);
  });
})();

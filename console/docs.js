// Swagger UI on /docs, with the options of FastAPI's own page. Its bundle has made SwaggerUIBundle global.

window.SwaggerUIBundle({
  url: "openapi.json",
  dom_id: "#swagger-ui",
  layout: "BaseLayout",
  deepLinking: true,
  showExtensions: true,
  showCommonExtensions: true,
  validatorUrl: null, // by default a badge from swagger.io
  presets: [window.SwaggerUIBundle.presets.apis, window.SwaggerUIBundle.SwaggerUIStandalonePreset],
  requestInterceptor: (sent) => {
    // whoever tries a request there looks how it goes: see observing/traffic.py
    sent.headers["X-No-Sample"] = "1";
    return sent;
  },
});

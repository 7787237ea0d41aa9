"""The HTTP service: `hubless_service.app.create_app(settings)`."""
